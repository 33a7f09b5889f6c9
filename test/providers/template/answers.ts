import { USUAL_CONTENT_CODES } from '../../../src/providers/content-codes.ts';
import type { SubmitAnswerRule } from '../../../src/providers/submit-answers.ts';

/**
 * What Tidewater's error answers to a submit prove. Order matters. Only what proves that there is no job stands here: an
 * answer that fits no row (5xx, 3xx, an unlisted 4xx) is unknown.
 */
// [change] its documented error answers
export const TIDEWATER_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  { statuses: [429], means: { kind: 'capacity' } },
  {
    statuses: [400, 403, 422],
    code: USUAL_CONTENT_CODES,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  { statuses: [400, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
];
