import type { OutboundAnswer } from '../net/types.ts';
import { parseJsonBytes } from './json-answer.ts';
import type { SubmitAnswerRule, SubmitReader } from './submit-answers.ts';
import { veoAccepted, veoError } from './veo-schemas.ts';

/** Our code for an envelope whose text names rejected content: Google has none of its own. */
const CONTENT = 'content_rejected';
/** ErrorInfo's reasons of a key that Google does not know, which come with HTTP 400. */
const BAD_KEY = /^API_KEY_/;

/**
 * What Google's error answers to a submit prove (troubleshooting page of the Gemini API; design.md §5). The code is the
 * key's ErrorInfo reason, ours for content, or `error.status`. What fits no row (5xx, 409, 499, a page) is unknown.
 */
const VEO_SUBMIT_ANSWERS: readonly SubmitAnswerRule[] = [
  { statuses: [429], means: { kind: 'capacity' } },
  { statuses: [400, 401, 403], code: BAD_KEY, means: { kind: 'refused', code: 'provider_rejected' } },
  { statuses: [400, 403], code: /^content_rejected$/, means: { kind: 'refused', code: 'content_rejected' } },
  // Billing is off, or the key's country is not served: nothing that the input could mend.
  {
    statuses: [400],
    code: /^FAILED_PRECONDITION$/,
    means: { kind: 'refused', code: 'provider_unavailable' },
  },
  {
    statuses: [400],
    code: /^(INVALID_ARGUMENT|OUT_OF_RANGE)$/,
    means: { kind: 'refused', code: 'invalid_input' },
  },
  // The prepaid balance is empty.
  { statuses: [402], means: { kind: 'refused', code: 'provider_unavailable' } },
  // 404 also for a model that Google has shut down.
  { statuses: [401, 403, 404, 405, 413, 415], means: { kind: 'refused', code: 'provider_rejected' } },
];

/** The code of an error body; null when it is not Google's envelope. */
function codeIn(body: unknown, contentMessage: RegExp): string | null {
  const error = veoError.safeParse(body).data?.error;
  if (error === undefined) return null;
  const reason = error.details.find((detail) => BAD_KEY.test(detail?.reason ?? ''))?.reason;
  if (reason !== undefined) return reason;
  if ((error.status ?? '') !== 'RESOURCE_EXHAUSTED' && contentMessage.test(error.message)) return CONTENT;
  return error.status ?? 'error';
}

/** `retryDelay` of a RetryInfo ("46s", "1.5s") in ms; null when the body has none. */
export function retryDelayMs(body: unknown): number | null {
  const details = veoError.safeParse(body).data?.error.details ?? [];
  for (const detail of details) {
    const [, seconds] = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(detail?.retryDelay ?? '') ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000);
  }
  return null;
}

/** How Google words its answers to a submit; an operation's name is the job's id. */
export function veoSubmitReader(contentMessage: RegExp): SubmitReader {
  return {
    rules: VEO_SUBMIT_ANSWERS,
    accepted(body) {
      const operation = veoAccepted.safeParse(body).data;
      return operation === undefined ? null : { handle: { jobId: operation.name }, status: 'not_done' };
    },
    error: (body) => ({ code: codeIn(body, contentMessage), type: null }),
    retryAfterMs: retryDelayMs,
  };
}

/** Whether an answer says that the key is unknown, which Google answers with 400. */
export function saysBadKey(answer: OutboundAnswer): boolean {
  if (answer.kind !== 'answer' || answer.status !== 400) return false;
  const details = veoError.safeParse(parseJsonBytes(answer.body)).data?.error.details ?? [];
  return details.some((detail) => BAD_KEY.test(detail?.reason ?? ''));
}
