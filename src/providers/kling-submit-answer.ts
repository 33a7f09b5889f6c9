import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { KLING_SUBMIT_ANSWERS } from './kling-answers.ts';
import { klingAccepted, klingEnvelope } from './kling-schemas.ts';
import { meaningOf } from './submit-answers.ts';

/** How an answer about an external id that is already used is told; see the head of kling.ts. */
export interface DuplicateReading {
  readonly duplicateCodes: readonly string[];
  readonly duplicateMessage: RegExp;
}

/**
 * What Kling's answer to a submit proves. The body comes before the HTTP status: 200 with a `code` is an error. A
 * duplicate external id proves that a task exists, so it is unknown and the core finds it.
 */
export function readKlingSubmit(
  answer: OutboundAnswer,
  reading: DuplicateReading,
  nowMs: number,
): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const { status } = answer;
  const envelope = klingEnvelope.safeParse(parseJsonBytes(answer.body)).data;
  if (envelope?.code === 0) {
    const task = klingAccepted.safeParse(envelope.data);
    if (!task.success || status < 200 || status > 299) {
      return { kind: 'unknown', reason: `http_${status}:unreadable` };
    }
    return { kind: 'accepted', handle: { jobId: task.data.id }, status: safeCode(task.data.status) };
  }
  const code = envelope === undefined ? null : String(envelope.code);
  const reason = code === null ? `http_${status}` : `http_${status}:${safeCode(code)}`;
  const duplicate =
    code !== null &&
    (reading.duplicateCodes.includes(code) || reading.duplicateMessage.test(envelope?.message ?? ''));
  if (duplicate) return { kind: 'unknown', reason: `${reason}:duplicate` };
  const meaning = meaningOf(KLING_SUBMIT_ANSWERS, { status, code, type: null });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: 'capacity', reason, retryAfterMs: parseRetryAfterMs(answer.headers['retry-after'], nowMs) };
}
