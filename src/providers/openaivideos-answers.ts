import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { SubmitAnswerRule } from './submit-answers.ts';

const NO_MONEY =
  /^(insufficient_quota|insufficient_user_quota|billing_hard_limit_reached|billing_not_active|quota_exceeded)$/;

/**
 * What error answers to a submit prove (OpenAI's pages on error codes, New API's, LiteLLM's; design.md §5). Order
 * matters; an answer that fits no row (5xx, an unlisted 4xx, a body that is not JSON) is unknown.
 */
export function videosSubmitAnswers(contentCodes: readonly string[]): readonly SubmitAnswerRule[] {
  const content = new RegExp(`${USUAL_CONTENT_CODES.source}|^(${contentCodes.map(literal).join('|')})$`);
  return [
    { statuses: 'any', code: /idempoten|duplicate|in_progress|conflict/i, means: { kind: 'unknown' } },
    // New API says this only when one upstream was asked, failed, and there is no other (controller/relay.go, RelayTask).
    { statuses: 'any', code: /^get_channel_failed$/, means: { kind: 'unknown' } },
    // OpenAI says 429 too where the account has no money: waiting does not help.
    {
      statuses: [400, 402, 403, 429],
      code: NO_MONEY,
      means: { kind: 'refused', code: 'provider_unavailable' },
    },
    { statuses: [429], means: { kind: 'capacity' } },
    {
      statuses: [400, 403, 422],
      code: content,
      means: { kind: 'refused', code: 'content_rejected' },
    },
    // OpenAI's guard against abuse, which says nothing of this prompt.
    {
      statuses: [400, 403],
      code: /^sentinel_block$/,
      means: { kind: 'refused', code: 'provider_unavailable' },
    },
    // New API: no upstream was found for the model, so none was asked.
    {
      statuses: [400, 403, 500, 503],
      code: /^model_not_found$/,
      means: { kind: 'refused', code: 'provider_unavailable' },
    },
    {
      statuses: [400, 422],
      type: /^(invalid_request_error|validation_error)$/,
      means: { kind: 'refused', code: 'invalid_input' },
    },
    {
      statuses: [400, 422],
      code: /^(invalid_|missing_|unsupported_|unknown_parameter)/,
      means: { kind: 'refused', code: 'invalid_input' },
    },
    { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
    { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
  ];
}

function literal(word: string): string {
  return word.replaceAll('.', '\\.');
}
