import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { SubmitAnswerRule } from './submit-answers.ts';

/**
 * What INFRO's error answers to a submit prove (providers.md §2; design.md §5). Order matters. An answer that fits no
 * row (5xx, 3xx, an unlisted 4xx, a body that is not JSON) is unknown.
 */
export const INFRO_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // idempotency_key_reuse and idempotency_key_in_progress prove that a first request with this key exists, so a job
  // may exist too: never refused. Their relatives, though not documented, count the same.
  { statuses: 'any', code: /idempoten|duplicate/i, means: { kind: 'unknown' } },
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: 'any', code: /in_progress|conflict/i, means: { kind: 'unknown' } },
  {
    statuses: [400, 403, 422],
    code: USUAL_CONTENT_CODES,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  // A code is needed: the type alone also covers the idempotency answers above.
  {
    statuses: [400, 422],
    type: /^invalid_request_error$/,
    code: /./,
    means: { kind: 'refused', code: 'invalid_input' },
  },
  { statuses: [401, 403], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];
