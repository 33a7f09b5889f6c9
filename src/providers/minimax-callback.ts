import { z } from 'zod';
import type { CallbackVerdict } from '../domain/provider.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { minimaxOldCallback, minimaxTaskAnswer } from './minimax-schemas.ts';

/** The ends in version 2's words and in those of version 1, both spellings: for a hint, all are an end. */
const TERMINAL = new Set(['succeeded', 'failed', 'cancelled', 'expired', 'success', 'Success', 'Fail']);

const absent = z.never().optional();
/** What we repeat is short and visible; a body about a task is no check. */
const challengeBody = z.object({
  challenge: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  task: absent,
  task_id: absent,
});

/** The check of a callback URL: a body with `challenge`, wanted back within 3 s; null for any other body. */
export function minimaxChallengeAnswer(rawBody: Uint8Array): string | null {
  const found = challengeBody.safeParse(parseJsonBytes(rawBody)).data;
  return found === undefined ? null : JSON.stringify({ challenge: found.challenge });
}

/**
 * A callback: the same as the answer to a query, at each change of status; a bare task with `task_id` as version 1 sends
 * it is taken too. Nothing is signed: only the token in our own URL vouches for it, and the body is no more than a hint.
 */
export function verifyMinimaxCallback(rawBody: Uint8Array): CallbackVerdict {
  const body = parseJsonBytes(rawBody);
  const task = minimaxTaskAnswer.safeParse(body).data?.task;
  const old = task === undefined ? minimaxOldCallback.safeParse(body).data : undefined;
  const jobId = task?.id ?? old?.task_id;
  if (jobId === undefined) return { ok: false, reason: 'malformed' };
  const status = task?.status ?? old?.status ?? null;
  return {
    ok: true,
    jobId,
    eventId: null,
    type: `task.${safeCode(status)}`,
    terminal: status !== null && TERMINAL.has(status),
    progress: null,
  };
}
