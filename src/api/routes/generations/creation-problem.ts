import type { CreateGenerationOutcome } from '../../../services/create-generation.ts';
import { limitProblem } from '../../limits.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import { scanUnavailable, tooManyFiles } from '../inputs/parts.ts';
import { requestProblem } from './request-problems.ts';

/** A person ends a pause; nobody knows when. */
const PAUSED_RETRY_SECONDS = '60';

/** All that a wish for a generation can be refused with, once its body was read. */
export const CREATION_PROBLEMS: readonly ProblemCode[] = [
  'invalid_request',
  'unknown_model',
  'unknown_account',
  'tenant_paused',
  'model_paused',
  'input_not_found',
  'input_unusable',
  'webhook_secret_missing',
  'busy',
  'storage_unavailable',
  'scan_unavailable',
  'insufficient_credits',
  'idempotency_key_in_progress',
  'price_changed',
  'idempotency_key_reuse',
  'too_many_generations',
  'daily_credits_reached',
];

/** Why no generation was made, with paths into the body of `POST /v1/generations`. */
export function creationProblem(
  outcome: Exclude<CreateGenerationOutcome, { readonly outcome: 'created' | 'replayed' }>,
): Problem {
  switch (outcome.outcome) {
    case 'invalid':
    case 'unknown_model':
    case 'price_changed':
      return requestProblem(outcome);
    case 'limit_reached':
      return limitProblem(outcome);
    case 'unknown_account':
      return new Problem('unknown_account', 'Grant credits to this account first; a grant creates it.', {
        errors: [{ path: '/account', message: 'No account of this name.' }],
      });
    case 'tenant_paused':
      return new Problem(
        'tenant_paused',
        'New generations of your tenant are stopped for now; what runs goes on. Ask your operator.',
      );
    case 'model_paused':
      return new Problem(
        'model_paused',
        'This model takes nothing new for now: use another one, or send the same request again later.',
        { headers: { 'Retry-After': PAUSED_RETRY_SECONDS } },
      );
    case 'unknown_input':
      return new Problem('input_not_found', 'Upload the file (again): it was deleted or never there.', {
        errors: [{ path: `/input/${outcome.field}`, message: 'No stored input of this id.' }],
      });
    case 'unusable_input':
      return new Problem(
        'input_unusable',
        'Correct what "errors" says, then send the same request again. Nothing was held.',
        { errors: [{ path: `/input/${outcome.field}`, message: outcome.message }] },
      );
    case 'inputs_busy':
      return tooManyFiles();
    case 'input_scan_failed':
      return scanUnavailable();
    case 'webhook_secret_missing':
      return new Problem(
        'webhook_secret_missing',
        'Create the secret that callback_url is signed with: POST /v1/webhook-secret/rotate. Then send the same request again.',
        { errors: [{ path: '/callback_url', message: 'Your tenant has no default secret.' }] },
      );
    case 'insufficient_credits':
      return new Problem(
        'insufficient_credits',
        'Grant credits to the account, then send the same request again.',
        {
          extensions: { available: outcome.available, required: outcome.required },
        },
      );
    case 'key_reuse':
      return new Problem(
        'idempotency_key_reuse',
        'Use a new Idempotency-Key for another request; this one stands for another body.',
      );
    case 'in_progress':
      return new Problem(
        'idempotency_key_in_progress',
        'The first request with this key still runs: send the same request again soon.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
  }
}
