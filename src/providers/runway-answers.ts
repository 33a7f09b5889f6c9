import type { SubmitAnswer } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { runwayCost } from './runway-observation.ts';
import { runwayAccepted, runwayError } from './runway-schemas.ts';
import { meaningOf, type SubmitAnswerRule } from './submit-answers.ts';

/**
 * What Runway's error answers to a submit prove (HTTP errors page of its documentation; design.md §5). Its errors have no
 * code but a text, so `code` is what errorCodeOf made of it; null = not Runway's own envelope.
 */
const RUNWAY_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // The daily quota of the organisation. Runway queues what is over its concurrency itself (THROTTLED).
  { statuses: [429], means: { kind: 'capacity' } },
  {
    statuses: [400, 402, 403],
    code: /^insufficient_credits$/,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  { statuses: [400, 403, 422], code: /^moderated$/, means: { kind: 'refused', code: 'content_rejected' } },
  { statuses: [400, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
];

/** How error texts are told apart, and how long a used-up quota is let alone; see the head of runway.ts. */
export interface RunwaySubmitReading {
  readonly creditsMessage: RegExp;
  readonly contentMessage: RegExp;
  readonly quotaRetryMs: number;
}

function errorCodeOf(body: unknown, reading: RunwaySubmitReading): string | null {
  const parsed = runwayError.safeParse(body).data;
  if (parsed === undefined) return null;
  if (reading.creditsMessage.test(parsed.error)) return 'insufficient_credits';
  if (reading.contentMessage.test(parsed.error)) return 'moderated';
  return safeCode(parsed.issues?.[0]?.code);
}

/** What Runway's answer to a submit proves; reasons are codes, never its own text. */
export function readRunwaySubmit(
  answer: OutboundAnswer,
  reading: RunwaySubmitReading,
  nowMs: number,
): SubmitAnswer {
  if (answer.kind === 'not_sent') return { kind: 'not_sent', reason: answer.reason };
  if (answer.kind === 'interrupted') return { kind: 'unknown', reason: answer.reason };
  const { status, headers } = answer;
  const body = parseJsonBytes(answer.body);
  if (status === 200 || status === 201 || status === 202) {
    const task = runwayAccepted.safeParse(body);
    if (!task.success) return { kind: 'unknown', reason: `http_${status}:unreadable` };
    const { id, estimatedCost } = task.data;
    return {
      kind: 'accepted',
      handle: { jobId: id },
      status: 'not_given',
      cost: runwayCost(estimatedCost, false),
    };
  }
  const code = errorCodeOf(body, reading);
  const reason = code === null ? `http_${status}` : `http_${status}:${code}`;
  const meaning = meaningOf(RUNWAY_SUBMIT_ANSWERS, { status, code, type: null });
  if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, reason };
  if (meaning.kind === 'unknown') return { kind: 'unknown', reason };
  const asked = parseRetryAfterMs(headers['retry-after'], nowMs);
  return { kind: 'capacity', reason, retryAfterMs: asked ?? reading.quotaRetryMs };
}
