import type { ProviderCost, SubmitAnswer } from '../domain/provider.ts';
import { bflCost } from './bfl-observation.ts';
import { bflAccepted, bflError } from './bfl-schemas.ts';
import { bflHandle, type BflRoot } from './bfl-urls.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import { safeCode } from './json-answer.ts';
import type { SubmitAnswerRule, SubmitReader } from './submit-answers.ts';

/**
 * What BFL's error answers to a submit prove (docs.bfl.ai/api_integration/errors; design.md §5). 500 and 503 ("high
 * load", "temporarily unavailable") prove nothing. `code` is what is read below; null = none of BFL's own shapes.
 */
const BFL_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  // More tasks at once than the account may have (24, FLUX 3 video 5).
  { statuses: [429], means: { kind: 'capacity' } },
  {
    statuses: [400, 403, 422],
    code: USUAL_CONTENT_CODES,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  { statuses: [400, 422], code: /./, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];

const MAX_RETRY_SECONDS = 86_400;

/** `error`, or the type of the first wrong member; a text for people is `unspecified`. */
function codeIn(body: unknown): string | null {
  const error = bflError.safeParse(body).data;
  if (error === undefined) return null;
  if ('error' in error) return safeCode(error.error);
  return typeof error.detail === 'string' ? 'unspecified' : safeCode(error.detail[0]?.type);
}

/** Reads answers to a submit; reasons are codes, never BFL's own text, which repeats what it was sent. */
export function bflSubmitReader(root: BflRoot, costUnit: string): SubmitReader {
  return {
    rules: BFL_SUBMIT_ANSWERS,
    accepted(body): Omit<Extract<SubmitAnswer, { kind: 'accepted' }>, 'kind'> | null {
      const task = bflAccepted.safeParse(body).data;
      if (task === undefined) return null;
      const cost: ProviderCost | null = bflCost(task.cost, costUnit, false);
      return { handle: bflHandle(root, task.id, task.polling_url), status: safeCode(task.status), cost };
    },
    error: (body) => ({ code: codeIn(body), type: null }),
    retryAfterMs(body) {
      const seconds = bflError.safeParse(body).data?.retry_after ?? null;
      return seconds === null ? null : Math.round(Math.min(seconds, MAX_RETRY_SECONDS) * 1_000);
    },
  };
}
