import type { DeliveryAttempt } from '../db/index.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { WebhookProblem } from '../domain/webhook-problem.ts';
import type { NetFailure, OutboundAnswer } from '../net/index.ts';

export interface JudgedAttempt extends Pick<DeliveryAttempt, 'outcome' | 'status' | 'retryAfterMs'> {
  readonly problem: WebhookProblem | null;
  /** As much of the answer as was read. */
  readonly answer: Uint8Array;
}

/** A blocked address, a name that is not there and a closed port are one word: see WEBHOOK_PROBLEMS. */
const PROBLEMS: Readonly<Record<NetFailure, WebhookProblem>> = {
  blocked_address: 'unreachable',
  invalid_url: 'unreachable',
  invalid_request: 'unreachable',
  dns_failed: 'unreachable',
  connect_refused: 'unreachable',
  connect_timeout: 'unreachable',
  tls_failed: 'tls_failed',
  timeout: 'timeout',
  reset: 'connection_lost',
  answer_too_large: 'bad_answer',
  bad_answer: 'bad_answer',
};

/** Those 4xx that ask by themselves to be tried again. */
const PASSING = new Set([408, 425, 429]);
const NOTHING = new Uint8Array();

/** An attempt without an answer; it is tried again. */
export function failedAttempt(problem: WebhookProblem): JudgedAttempt {
  return { outcome: 'failed', status: null, problem, retryAfterMs: null, answer: NOTHING };
}

/**
 * What an answer means for its delivery: 2xx delivered it, 410 wants no more, another 4xx ends it where the endpoint
 * chose so (save 408, 425, 429), anything else is tried again: at 429 and 503 not before the time they ask for.
 */
export function judgeWebhookAnswer(
  answer: OutboundAnswer,
  { endOn4xx, nowMs }: { readonly endOn4xx: boolean; readonly nowMs: number },
): JudgedAttempt {
  if (answer.kind !== 'answer') return failedAttempt(PROBLEMS[answer.reason]);
  const { status, headers, body } = answer;
  const judged = { status, answer: body, retryAfterMs: null };
  if (status < 300) return { ...judged, outcome: 'delivered', problem: null };
  if (status < 400) return { ...judged, outcome: 'failed', problem: 'redirect' };
  if (status === 410) return { ...judged, outcome: 'gone', problem: 'gone' };
  const ends = endOn4xx && status < 500 && !PASSING.has(status);
  const asksForTime = status === 429 || status === 503;
  return {
    ...judged,
    outcome: ends ? 'ended' : 'failed',
    problem: 'http_status',
    retryAfterMs: asksForTime ? parseRetryAfterMs(headers['retry-after'], nowMs) : null,
  };
}
