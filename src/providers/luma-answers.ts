import { safeCode } from './json-answer.ts';
import { lumaAccepted, lumaError } from './luma-schemas.ts';
import type { SubmitAnswerRule, SubmitReader } from './submit-answers.ts';

/**
 * What Luma's error answers to a submit prove (its error handling page; design.md §5). Its errors have no code but a text, so
 * `code` says what the text is about; null = not Luma's own envelope. 502 and 503 may come after the job was taken.
 */
const LUMA_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // Requests a minute, or jobs at once: both with Retry-After.
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: [400, 403, 422], code: /^moderated$/, means: { kind: 'refused', code: 'content_rejected' } },
  { statuses: [400, 413, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
];

/** @param contentMessage texts that mean rejected content; see the head of luma.ts */
export function lumaSubmitReader(contentMessage: RegExp): SubmitReader {
  return {
    rules: LUMA_SUBMIT_ANSWERS,
    accepted(body) {
      const generation = lumaAccepted.safeParse(body).data;
      if (generation === undefined) return null;
      return { handle: { jobId: generation.id }, status: safeCode(generation.state) };
    },
    error(body) {
      const detail = lumaError.safeParse(body).data?.detail;
      if (detail === undefined) return { code: null, type: null };
      const moderated = typeof detail === 'string' && contentMessage.test(detail);
      return { code: moderated ? 'moderated' : 'unspecified', type: null };
    },
  };
}
