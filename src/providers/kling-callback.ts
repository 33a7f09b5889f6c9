import type { CallbackVerdict } from '../domain/provider.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { klingCallback } from './kling-schemas.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';

/** `succeed` is the older API's spelling; for a hint, both are an end. */
const TERMINAL = new Set(['succeeded', 'succeed', 'failed']);

/**
 * A callback of Kling (callbacks page of its documentation): the bare task on every change of its status. `signed` once a
 * webhook secret was made in its console, then by Standard Webhooks; such a secret is never ignored, also without
 * `signed`. Unsigned, only the token in our own URL vouches for it, and the body is no more than a hint.
 */
export function verifyKlingCallback(
  signed: boolean,
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): CallbackVerdict {
  const mustVerify = signed || secrets.some((secret) => secret.startsWith('whsec_'));
  const eventId = mustVerify ? verifyStandardWebhook(headers, rawBody, secrets, nowMs) : null;
  if (mustVerify && eventId === null) return { ok: false, reason: 'unverified' };
  const task = klingCallback.safeParse(parseJsonBytes(rawBody)).data;
  if (task === undefined) return { ok: false, reason: 'malformed' };
  const status = task.status ?? task.task_status ?? null;
  return {
    ok: true,
    jobId: task.id ?? task.task_id ?? null,
    eventId,
    type: `task.${safeCode(status)}`,
    terminal: status !== null && TERMINAL.has(status),
    progress: null,
  };
}
