import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { SubmitAnswerRule } from './submit-answers.ts';

const NO_MONEY =
  /^(insufficient_quota|insufficient_user_quota|billing_hard_limit_reached|billing_not_active|quota_exceeded)$/;

/** What New API's middleware signs its refusals with; nothing of an upstream is in them (middleware/utils.go). */
const GATEWAY = /^new_api_error$/;
const KEY_TROUBLE: SubmitAnswerRule = {
  statuses: 'any',
  code: /idempoten|duplicate|in_progress|conflict/i,
  means: { kind: 'unknown' },
};

/**
 * What error answers prove where a submit may have gone to several upstreams, of which the last one answers: New API asks
 * another channel after a 5xx, a 429 or no answer, also of one that took the job (controller/relay.go, RelayTask). So only
 * what is said before any is asked refuses: by its middleware (key, rate limit, no channel), by its own list of words, by
 * the user's quota, which is taken once before the first, and of what makes a body unreadable to all channels alike
 * (relay_utils.go). Its `invalid_request` is none of these: forks of it say so for one channel.
 */
const RETRIED: readonly SubmitAnswerRule[] = [
  KEY_TROUBLE,
  {
    statuses: [503],
    code: /^model_not_found$/,
    type: GATEWAY,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  {
    statuses: [400, 403, 500],
    code: /^sensitive_words_detected$/,
    means: { kind: 'refused', code: 'content_rejected' },
  },
  {
    statuses: [402, 403],
    code: /^insufficient_user_quota$/,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  {
    statuses: [400],
    code: /^(invalid_json|invalid_multipart_form|missing_model)$/,
    means: { kind: 'refused', code: 'invalid_input' },
  },
  {
    statuses: [403],
    code: /^access_denied$/,
    type: GATEWAY,
    means: { kind: 'refused', code: 'provider_rejected' },
  },
  // The rest of the middleware's answers has no code; with one, an upstream's error may be in it.
  { statuses: 'any', code: /^/, means: { kind: 'unknown' } },
  { statuses: [429], type: GATEWAY, means: { kind: 'capacity' } },
  { statuses: [400], type: GATEWAY, means: { kind: 'refused', code: 'invalid_input' } },
  { statuses: [401, 403], type: GATEWAY, means: { kind: 'refused', code: 'provider_rejected' } },
];

/**
 * What error answers to a submit prove (OpenAI's pages on error codes, New API's, LiteLLM's; design.md §5). Order
 * matters; an answer that fits no row (5xx, an unlisted 4xx, a body that is not JSON) is unknown.
 * @param retriesUpstreams whether the aggregator may have asked others before the one whose answer it shows
 */
export function videosSubmitAnswers(
  contentCodes: readonly string[],
  retriesUpstreams: boolean,
): readonly SubmitAnswerRule[] {
  if (retriesUpstreams) return RETRIED;
  const content = new RegExp(`${USUAL_CONTENT_CODES.source}|^(${contentCodes.map(literal).join('|')})$`);
  return [
    KEY_TROUBLE,
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
