import type { FailedCode } from '../domain/errors.ts';
import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';

/** One row of a provider's answer table: all given conditions must hold; the first row that fits decides. */
export interface SubmitAnswerRule {
  readonly statuses: readonly number[] | 'any';
  /** Matched against the error code of the body; absent = any answer, even an unreadable one. */
  readonly code?: RegExp;
  /** Matched against the error type of the body. */
  readonly type?: RegExp;
  readonly means:
    | { readonly kind: 'refused'; readonly code: FailedCode }
    | { readonly kind: 'capacity' }
    | { readonly kind: 'unknown' };
}

function statusFits(statuses: SubmitAnswerRule['statuses'], status: number): boolean {
  return statuses === 'any' || statuses.includes(status);
}

/** What an error answer means by the table; what no row lists proves nothing, so it is `unknown`. */
export function meaningOf(
  rules: readonly SubmitAnswerRule[],
  answer: { readonly status: number; readonly code: string | null; readonly type: string | null },
): SubmitAnswerRule['means'] {
  const rule = rules.find(
    (candidate) =>
      statusFits(candidate.statuses, answer.status) &&
      (candidate.code === undefined || (answer.code !== null && candidate.code.test(answer.code))) &&
      (candidate.type === undefined || (answer.type !== null && candidate.type.test(answer.type))),
  );
  return rule?.means ?? { kind: 'unknown' };
}

/** How one provider words its answers to a submit. */
export interface SubmitReader {
  readonly rules: readonly SubmitAnswerRule[];
  /** Handle, status and cost from the body of a 2xx; null when it holds no usable id. */
  readonly accepted: (body: unknown) => Omit<Extract<SubmitAnswer, { kind: 'accepted' }>, 'kind'> | null;
  /** The error code and type in any other body; null for what is not there. */
  readonly error: (body: unknown) => { readonly code: string | null; readonly type: string | null };
  /** The error in the body of a 2xx, where the provider has such; null when it is none. By default a 2xx is never one. */
  readonly errorIn2xx?: (
    body: unknown,
  ) => { readonly code: string | null; readonly type: string | null } | null;
  /** How long to wait, where the body tells it; the header counts first. */
  readonly retryAfterMs?: (body: unknown) => number | null;
}

/** What the answer to a submit proves; reasons are codes, never the provider's own text. */
export function readSubmitAnswer(answer: OutboundAnswer, reader: SubmitReader, nowMs: number): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const { status } = answer;
  const body = parseJsonBytes(answer.body);
  const success = status === 200 || status === 201 || status === 202;
  const accepted = success ? reader.accepted(body) : null;
  if (accepted !== null) return { kind: 'accepted', ...accepted };
  const error = success ? (reader.errorIn2xx?.(body) ?? null) : reader.error(body);
  if (error === null) return { kind: 'unknown', reason: `http_${status}:unreadable` };
  const { code, type } = error;
  const reason = code === null ? `http_${status}` : `http_${status}:${safeCode(code)}`;
  const meaning = meaningOf(reader.rules, { status, code, type });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  const header = parseRetryAfterMs(answer.headers['retry-after'], nowMs);
  return { kind: 'capacity', reason, retryAfterMs: header ?? reader.retryAfterMs?.(body) ?? null };
}
