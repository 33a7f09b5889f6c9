import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { SubmitAnswerRule } from './submit-answers.ts';

/**
 * What Aigenway's error answers to a submit prove (its pages on errors and idempotency; design.md §5). Order matters; an
 * answer that fits no row (5xx, 409, an unlisted 4xx, a body that is not JSON) is unknown.
 */
export const AIGENWAY_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // idempotency_key_in_use (409) and idempotency_key_mismatch (422) prove that a first request with this key exists.
  { statuses: 'any', code: /idempoten|duplicate/i, means: { kind: 'unknown' } },
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: 'any', code: /in_progress|conflict/i, means: { kind: 'unknown' } },
  {
    statuses: [400, 403, 422],
    code: USUAL_CONTENT_CODES,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  // Said before a task is made: the upstream is switched off, or our balance does not cover the price.
  {
    statuses: [402, 403, 404, 422, 503],
    code: /^(provider_unavailable|model_unavailable|method_unavailable|insufficient_balance)$/,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  { statuses: [400, 422], code: /^invalid_parameters$/, means: { kind: 'refused', code: 'invalid_input' } },
  // 422 invalid_request is also said of a reservation in a wrong state, so it proves nothing.
  { statuses: [400], code: /^invalid_request$/, means: { kind: 'refused', code: 'invalid_input' } },
  {
    statuses: [422],
    code: /^(price_not_configured|provider_rate_card_not_configured)$/,
    means: { kind: 'refused', code: 'provider_rejected' },
  },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];
