import type { DeliveryAttempt } from '../db/index.ts';
import type { Observation, SubmitAnswer } from '../domain/provider.ts';
import type { DownloadAnswer, NetFailure } from '../net/types.ts';

/** Stands for a provider's name that the caller made up, so that nobody can grow the number of series. */
export const OTHER_PROVIDER = 'other';

/** The names of a record that has every member of a closed union. */
function all<T extends string>(record: Readonly<Record<T, true>>): readonly T[] {
  return Object.keys(record) as T[];
}

/** How a callback was answered. The first seven are 200: what became of a verified one, or a check of our URL. */
export type CallbackAnswer =
  | 'recorded'
  | 'duplicate'
  | 'capped'
  | 'unmatched'
  | 'unknown_submission'
  | 'ignored'
  | 'challenge'
  /** 401 */
  | 'unauthorized'
  /** Another 4xx. */
  | 'refused'
  /** 503 */
  | 'unavailable'
  /** 500 */
  | 'failed';
export const CALLBACK_ANSWERS = all<CallbackAnswer>({
  recorded: true,
  duplicate: true,
  capped: true,
  unmatched: true,
  unknown_submission: true,
  ignored: true,
  challenge: true,
  unauthorized: true,
  refused: true,
  unavailable: true,
  failed: true,
});

/** Why a callback was not taken, and how it was answered for it. */
export const CALLBACK_FAILURES = {
  forged_token: 'unauthorized',
  wrong_signature: 'unauthorized',
  malformed: 'refused',
  unknown_provider: 'refused',
  body_too_large: 'refused',
  encoded_body: 'refused',
  incomplete_body: 'refused',
  not_configured: 'unavailable',
  keys_unavailable: 'unavailable',
  database_unavailable: 'unavailable',
  defect: 'failed',
} as const satisfies Readonly<Record<string, CallbackAnswer>>;
export type CallbackFailure = keyof typeof CALLBACK_FAILURES;

export const SUBMIT_KINDS = all<SubmitAnswer['kind']>({
  accepted: true,
  refused: true,
  capacity: true,
  not_sent: true,
  unknown: true,
});

export const OBSERVATION_KINDS = all<Observation['kind']>({
  running: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  not_found: true,
  unavailable: true,
});

/** Why an output that was rendered is not stored: our storage, scanner or settings, or what came in the place of its file. */
export type OutputProblem =
  | 'storage_full'
  | 'storage_unavailable'
  | 'scan_timeout'
  | 'scan_error'
  | 'infected'
  | 'blocked_host'
  | 'key_refused'
  | 'file_not_ready';
export const OUTPUT_PROBLEMS = all<OutputProblem>({
  storage_full: true,
  storage_unavailable: true,
  scan_timeout: true,
  scan_error: true,
  infected: true,
  blocked_host: true,
  key_refused: true,
  file_not_ready: true,
});

/** How an attempt to deliver a webhook ended; `unsent` = it never left us, for want of a secret or a body. */
export type WebhookOutcome = DeliveryAttempt['outcome'] | 'unsent';
export const WEBHOOK_OUTCOMES = all<WebhookOutcome>({
  delivered: true,
  failed: true,
  gone: true,
  ended: true,
  unsent: true,
});

/** Why Darkroom disables an endpoint by itself. */
export type DisabledReason = 'gone' | 'failing';
export const DISABLED_REASONS = all<DisabledReason>({ gone: true, failing: true });

type Reason<K> = Extract<DownloadAnswer, { kind: K; reason: string }>['reason'];
/** Why a call brought no answer, and why a download brought no file. */
export interface OutboundFailures {
  readonly request: NetFailure;
  readonly download: Reason<'failed' | 'rejected'> | 'gone';
}

const NET_FAILURES: Readonly<Record<NetFailure, true>> = {
  blocked_address: true,
  invalid_url: true,
  invalid_request: true,
  dns_failed: true,
  connect_refused: true,
  connect_timeout: true,
  tls_failed: true,
  timeout: true,
  reset: true,
  answer_too_large: true,
  bad_answer: true,
};
export const OUTBOUND_FAILURES: { readonly [C in keyof OutboundFailures]: readonly OutboundFailures[C][] } = {
  request: all<OutboundFailures['request']>(NET_FAILURES),
  download: all<OutboundFailures['download']>({
    ...NET_FAILURES,
    truncated: true,
    too_slow: true,
    http_status: true,
    gone: true,
    too_large: true,
    blocked_host: true,
    encoded: true,
    redirects: true,
  }),
};
