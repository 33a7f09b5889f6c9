import type { FailedCode } from '../domain/errors.ts';
import { safeCode } from './json-answer.ts';
import { falError } from './fal-schemas.ts';

/** fal's error of a request, in codes only. */
export interface FalProblem {
  /** `error_type`, or the first type in `detail`; null when the error names none. */
  readonly type: string | null;
  /** true for a model's own typed error: it tells the fate of the job, whatever the HTTP status is. */
  readonly typed: boolean;
}

/** The error types of models (fal.ai/docs …/model-apis/errors) that do not mean bad input. */
const MODEL_TYPES = new Map<string, FailedCode>([
  ['content_policy_violation', 'content_rejected'],
  ['no_media_generated', 'no_output'],
  ['internal_server_error', 'provider_failed'],
  ['generation_timeout', 'provider_failed'],
  ['downstream_service_error', 'provider_failed'],
  ['downstream_service_unavailable', 'provider_failed'],
]);

/** fal's infrastructure (fal.ai/docs …/model-apis/request-errors). */
const REQUEST_TYPES: ReadonlySet<string> = new Set([
  'request_timeout',
  'startup_timeout',
  'runner_scheduling_failure',
  'runner_connection_timeout',
  'runner_disconnected',
  'runner_connection_refused',
  'runner_connection_error',
  'runner_incomplete_response',
  'runner_server_error',
  'client_disconnected',
  'client_cancelled',
  'bad_request',
  'internal_error',
]);

/** `client_cancelled`: the request ended because of our own cancel. */
export const FAL_CANCELLED = 'client_cancelled';

/** The text with which the result is refused while the request still runs. */
const STILL_RUNNING = 'Request is still in progress';

/** fal's error in a body; null when the body is none of its two shapes. */
export function falProblemIn(body: unknown): FalProblem | null {
  const error = falError.safeParse(body).data;
  if (error === undefined) return null;
  const { detail, error_type: errorType } = error;
  if (typeof detail === 'string') return { type: errorType ?? null, typed: false };
  return { type: detail.find(({ type }) => typeof type === 'string')?.type ?? null, typed: true };
}

/** Whether this error says that the result is only not there yet. */
export function saysStillRunning(body: unknown): boolean {
  return falError.safeParse(body).data?.detail === STILL_RUNNING;
}

/** What the failure of an accepted request means; a type that is not listed means bad input at 400 and 422. */
export function falFailure(
  type: string | null,
  status: number,
): { readonly code: FailedCode; readonly reason: string } {
  const reason = type === null ? `http_${status}` : safeCode(type);
  const known = type === null ? undefined : MODEL_TYPES.get(type);
  if (known !== undefined) return { code: known, reason };
  const input = (status === 400 && type !== null && !REQUEST_TYPES.has(type)) || status === 422;
  return { code: input ? 'invalid_input' : 'provider_failed', reason };
}
