import { minimaxAccepted, minimaxBaseFault, minimaxError, minimaxNamed } from './minimax-schemas.ts';
import type { SubmitAnswerRule, SubmitReader } from './submit-answers.ts';

/** Codes of a key or an account that may not do this. */
export const MINIMAX_DENIED_CODES = /^(1004|1008|2049)$/;
/** Input (1026) or output (1027) with sensitive content. */
export const MINIMAX_CONTENT_CODES = /^102[67]$/;

/**
 * What MiniMax's error answers to a submit prove (create page and error codes of its documentation; design.md §5). The
 * code at the end of the message comes first, then the HTTP status. Order matters.
 */
const RULES: readonly SubmitAnswerRule[] = [
  // Faults there: unknown error, timeout, internal error, system error. The task may have been made.
  { statuses: 'any', code: /^(1000|1001|1024|1033)$/, means: { kind: 'unknown' } },
  { statuses: 'any', code: MINIMAX_CONTENT_CODES, means: { kind: 'refused', code: 'content_rejected' } },
  // No balance; a plan's quota that comes back after hours only.
  { statuses: 'any', code: /^(1008|2056)$/, means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: 'any', code: /^(1004|2049)$/, means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: 'any', code: /^(1002|1041|2045)$/, means: { kind: 'capacity' } },
  { statuses: 'any', code: /^(1042|2013)$/, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [400, 422], type: /./, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];

/** `overloaded`: what 529 `overloaded_error` means; see the head of minimax.ts. */
export function minimaxSubmitReader(overloaded: 'unknown' | 'capacity'): SubmitReader {
  return {
    rules: [{ statuses: [529], type: /^overloaded_error$/, means: { kind: overloaded } }, ...RULES],
    accepted(body) {
      const task = minimaxAccepted.safeParse(body).data;
      if (task === undefined || minimaxBaseFault(body) !== null) return null;
      return { handle: { jobId: task.task_id }, status: 'not_given' };
    },
    error: (body) => minimaxError(body) ?? minimaxBaseFault(body) ?? { code: null, type: null },
    // With an id beside it nothing is proved.
    errorIn2xx: (body) => (minimaxNamed.safeParse(body).success ? null : minimaxBaseFault(body)),
  };
}
