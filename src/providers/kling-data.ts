import type { Observation } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { KLING_DENIED_CODES, KLING_NOT_FOUND_CODE } from './kling-answers.ts';
import { klingEnvelope, klingTasks, type KlingTask } from './kling-schemas.ts';

type Unavailable = Extract<Observation, { readonly kind: 'unavailable' }>;
/** An answer reduced to its `data`, or to why there is none. */
type Data = { readonly kind: 'data'; readonly data: unknown } | { readonly kind: 'not_found' } | Unavailable;

/** The `data` of a 2xx with code 0. An error's code comes before the HTTP status, for a 200 can be one. */
export function klingData(answer: OutboundAnswer, nowMs: number): Data {
  if (answer.kind !== 'answer') {
    return { kind: 'unavailable', reason: answer.reason, denied: false, retryAfterMs: null };
  }
  const { status, headers, body } = answer;
  const envelope = klingEnvelope.safeParse(parseJsonBytes(body)).data;
  const success = status >= 200 && status < 300;
  if (envelope?.code === 0 && success) return { kind: 'data', data: envelope.data };
  const code = envelope === undefined || envelope.code === 0 ? null : String(envelope.code);
  if (code === KLING_NOT_FOUND_CODE) return { kind: 'not_found' };
  const named = code === null ? `http_${status}` : `http_${status}:${safeCode(code)}`;
  return {
    kind: 'unavailable',
    reason: code === null && success ? 'unreadable_answer' : named,
    denied: code === null ? [401, 402, 403].includes(status) : KLING_DENIED_CODES.test(code),
    retryAfterMs: parseRetryAfterMs(headers['retry-after'], nowMs),
  };
}

const UNREADABLE: Unavailable = {
  kind: 'unavailable',
  reason: 'unreadable_answer',
  denied: false,
  retryAfterMs: null,
};

/** The one task that was asked for; another one or none that can be read says nothing. */
export function oneKlingTask(
  data: Data,
  is: (task: KlingTask) => boolean,
): KlingTask | { readonly kind: 'not_found' } | Unavailable {
  if (data.kind !== 'data') return data;
  const tasks = klingTasks.safeParse(data.data).data;
  if (tasks === undefined) return UNREADABLE;
  return tasks.length === 0 ? { kind: 'not_found' } : (tasks.find(is) ?? UNREADABLE);
}
