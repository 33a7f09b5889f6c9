import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { replicateAccepted, replicateError } from './replicate-schemas.ts';
import { meaningOf, type SubmitAnswerRule } from './submit-answers.ts';

type Answered = Extract<OutboundAnswer, { readonly kind: 'answer' }>;

/** Our code for an envelope whose text names rejected content; Replicate has none of its own. */
const CONTENT = /^content_rejected$/;

/**
 * What Replicate's error answers to a submit prove (providers.md §4; design.md §5). The code is the envelope's title in
 * snake case, `error` for an envelope without one. What fits no row (5xx, 409, a body that is not JSON) is unknown.
 */
const REPLICATE_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: [401, 403], means: { kind: 'refused', code: 'provider_rejected' } },
  // Out of credit.
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [400, 422], code: CONTENT, means: { kind: 'refused', code: 'content_rejected' } },
  // "Invalid version or not permitted": the route is wrong, not the tenant's input.
  { statuses: [422], code: /version|not_permitted/, means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [400, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
];

/** `Input validation failed` → `input_validation_failed`; null when the body is no error of Replicate. */
function codeOf(body: unknown, contentErrors: RegExp): string | null {
  const error = replicateError.safeParse(body);
  if (!error.success) return null;
  if (contentErrors.test(detailIn(error.data.detail))) return 'content_rejected';
  const title = (error.data.title ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  return title === '' ? 'error' : title.slice(0, 64);
}

function detailIn(detail: unknown): string {
  return typeof detail === 'string' ? detail.slice(0, 10_000) : '';
}

/** `Retry-After`, else `retry_after` of the body, else the seconds of the documented text "resets in ~30s". */
export function replicateRetryAfterMs(answer: Answered, nowMs: number): number | null {
  const header = parseRetryAfterMs(answer.headers['retry-after'], nowMs);
  if (header !== null) return header;
  const error = replicateError.safeParse(parseJsonBytes(answer.body)).data;
  if (error?.retry_after !== undefined && error.retry_after !== null) return error.retry_after * 1_000;
  const [, seconds] = /resets in ~?(\d{1,5})s/.exec(detailIn(error?.detail)) ?? [];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** What Replicate's answer to a submit proves; reasons are codes, never Replicate's own text. */
export function readReplicateSubmit(
  answer: OutboundAnswer,
  contentErrors: RegExp,
  nowMs: number,
): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const body = parseJsonBytes(answer.body);
  if (answer.status === 200 || answer.status === 201 || answer.status === 202) {
    const job = replicateAccepted.safeParse(body);
    if (!job.success) return { kind: 'unknown', reason: `http_${answer.status}:unreadable` };
    return { kind: 'accepted', handle: { jobId: job.data.id }, status: safeCode(job.data.status) };
  }
  const code = codeOf(body, contentErrors);
  const reason = code === null ? `http_${answer.status}` : `http_${answer.status}:${code}`;
  const meaning = meaningOf(REPLICATE_SUBMIT_ANSWERS, { status: answer.status, code, type: null });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: 'capacity', reason, retryAfterMs: replicateRetryAfterMs(answer, nowMs) };
}
