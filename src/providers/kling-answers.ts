import type { SubmitAnswerRule } from './submit-answers.ts';

/** Codes of a key, an account or an address that may not do this: 401/402/403 in other words. */
export const KLING_DENIED_CODES = /^(1000|1001|1002|1003|1004|1100|1101|1102|1103|1304)$/;

/** The asked task or resource does not exist. */
export const KLING_NOT_FOUND_CODE = '1203';

/**
 * What Kling's error answers to a submit prove (error-codes page of its documentation; design.md §5). The code in the
 * body decides, whatever the HTTP status; statuses count only where no rule knows the code. Order matters.
 */
export const KLING_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // Server faults: the task may have been made.
  { statuses: 'any', code: /^5\d{3}$/, means: { kind: 'unknown' } },
  // Too many requests, too many at once. Other 429 codes are about money or addresses, and no wait mends them.
  { statuses: 'any', code: /^130[23]$/, means: { kind: 'capacity' } },
  { statuses: 'any', code: /^110[012]$/, means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: 'any', code: /^130[01]$/, means: { kind: 'refused', code: 'content_rejected' } },
  { statuses: 'any', code: /^120[01]$/, means: { kind: 'refused', code: 'invalid_input' } },
  {
    statuses: 'any',
    code: /^(100[0-4]|1103|1202|1203|1304)$/,
    means: { kind: 'refused', code: 'provider_rejected' },
  },
  // A gateway in front of the API, with a body of its own.
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
];
