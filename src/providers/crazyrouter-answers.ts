import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { SubmitAnswerRule } from './submit-answers.ts';

/**
 * What Crazyrouter's error answers to a submit prove (its pages on errors and status codes; design.md §5). Order matters;
 * an answer that fits no row (5xx, an unlisted 4xx, a body that is not JSON) is unknown.
 */
export const CRAZYROUTER_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  { statuses: 'any', code: /idempoten|duplicate/i, means: { kind: 'unknown' } },
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: 'any', code: /in_progress|conflict/i, means: { kind: 'unknown' } },
  {
    statuses: [400, 403, 422],
    code: USUAL_CONTENT_CODES,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  // The relay that it runs says so also when one upstream was asked, failed, and there is no other (New API, RelayTask).
  { statuses: 'any', code: /^get_channel_failed$/, means: { kind: 'unknown' } },
  {
    statuses: [402, 403],
    code: /^(insufficient_quota|insufficient_user_quota)$/,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  {
    statuses: [400, 422],
    type: /^invalid_request_error$/,
    code: /./,
    means: { kind: 'refused', code: 'invalid_input' },
  },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];
