import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { falProblemIn } from './fal-errors.ts';
import { falAccepted } from './fal-schemas.ts';
import { falHandle, type FalRoot } from './fal-urls.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { meaningOf, type SubmitAnswerRule } from './submit-answers.ts';

/**
 * What fal's error answers to a submit prove (providers.md §5; design.md §5). The code is the error's type, `error` for
 * fal's own envelope without one. What fits no row (5xx, 409, a body that is not JSON) is unknown.
 */
const FAL_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  { statuses: [429], means: { kind: 'capacity' } },
  {
    statuses: [400, 403, 422],
    code: /^content_policy_violation$/,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  { statuses: [401, 403], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  // The request around the input is malformed: the route is wrong, not the tenant's input.
  { statuses: [400], code: /^bad_request$/, means: { kind: 'refused', code: 'provider_rejected' } },
  // A model's service behind fal broke: nothing says what became of the request.
  { statuses: [400], code: /^downstream_/, means: { kind: 'unknown' } },
  { statuses: [400, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
];

/** What fal's answer to a submit proves; reasons are codes, never fal's own text. */
export function readFalSubmit(
  answer: OutboundAnswer,
  path: string,
  root: FalRoot,
  nowMs: number,
): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const body = parseJsonBytes(answer.body);
  if (answer.status === 200 || answer.status === 201 || answer.status === 202) {
    const accepted = falAccepted.safeParse(body);
    if (!accepted.success) return { kind: 'unknown', reason: `http_${answer.status}:unreadable` };
    const { request_id: jobId, status, status_url, response_url, cancel_url } = accepted.data;
    const handle = falHandle(root, jobId, path, { status_url, response_url, cancel_url });
    return { kind: 'accepted', handle, status: safeCode(status) };
  }
  const problem = falProblemIn(body);
  const code = problem === null ? null : safeCode(problem.type ?? 'error');
  const reason = code === null ? `http_${answer.status}` : `http_${answer.status}:${code}`;
  const meaning = meaningOf(FAL_SUBMIT_ANSWERS, { status: answer.status, code, type: null });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: 'capacity', reason, retryAfterMs: parseRetryAfterMs(answer.headers['retry-after'], nowMs) };
}
