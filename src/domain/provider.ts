import type { FailedCode } from './errors.ts';
import type { InputField, Method } from './input-fields.ts';
import type { JsonObject } from './json.ts';

/**
 * What a provider offers against a lost answer. `replay`: the same key and bytes give the same job;
 * `lookup`: a job is found by our external id; `none`: neither, so a lost answer stays unknown.
 */
export type IdempotencyCapability = 'replay' | 'lookup' | 'none';

export interface ProviderCapabilities {
  readonly idempotency: IdempotencyCapability;
  /** `signed`: each callback carries a signature that we verify; `unsigned`: only our path token; `none`: poll only. */
  readonly callbacks: 'signed' | 'unsigned' | 'none';
  /** What a cancel does there: stops the render unbilled, ends the job but it may be billed, or is not offered. */
  readonly cancel: 'stops' | 'may_bill' | 'unsupported';
  /** A list of jobs that carries our callback URL or external id, so that a lost answer can be matched. */
  readonly list: boolean;
  /** What the API tells of a job's price. */
  readonly cost: 'final' | 'estimate' | 'none';
  /** The largest file that may stand in a submit as a `data:` URI where a URL would, in bytes of the file; 0 = none. */
  readonly inlineInputBytes: number;
}

/** What a provider amount is; kept as text, since units differ (USD, credits, seconds). */
export interface ProviderCost {
  readonly amount: string;
  readonly unit: string;
  readonly final: boolean;
}

/** All that a provider returned to address the job later; stored whole, read by its own adapter only. */
export type ProviderHandle = JsonObject & { readonly jobId: string };

/** The frozen bytes of one submit: sent again only byte for byte. */
export interface SubmitRequest {
  readonly method: 'POST';
  /** May hold the callback URL percent-encoded, as a query parameter. */
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

/** What the answer to a submit proves (design.md §5). `unknown` is everything that proves nothing. */
export type SubmitAnswer =
  | {
      readonly kind: 'accepted';
      readonly handle: ProviderHandle;
      readonly status: string;
      readonly cost?: ProviderCost | null;
    }
  | { readonly kind: 'refused'; readonly code: FailedCode; readonly reason: string }
  | { readonly kind: 'capacity'; readonly reason: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface ProviderOutput {
  /** http(s), or the whole file as `data:<type>;base64,…`. Never stored, logged or shown. */
  readonly url: string;
}

/**
 * The present state of a job as the provider tells it. `succeeded` with `outputs: []` means that there was output and
 * it is gone at the provider; a success that never had a usable output is `failed` with `no_output`.
 */
export type Observation =
  | {
      readonly kind: 'running';
      readonly status: string;
      readonly progress: number | null;
      /** true when the status string is not in the provider's documented table. */
      readonly unknownStatus: boolean;
    }
  | {
      readonly kind: 'succeeded';
      readonly status: string;
      readonly outputs: readonly ProviderOutput[];
      readonly linkExpiresAt: Date | null;
      readonly cost: ProviderCost | null;
    }
  | {
      readonly kind: 'failed';
      readonly status: string;
      readonly code: FailedCode;
      readonly reason: string;
      readonly cost: ProviderCost | null;
    }
  | { readonly kind: 'cancelled'; readonly status: string; readonly cost?: ProviderCost | null }
  /** The provider says that there is no such job; the caller weighs it by time (design.md §3). */
  | { readonly kind: 'not_found' }
  /** The call failed: nothing is said about the job. `denied` = 401/402/403. */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly denied: boolean;
      readonly retryAfterMs: number | null;
    };

/** What a cancel call answered; a present state in the answer is taken as an observation. */
export type CancelAnswer =
  | { readonly kind: 'answered'; readonly observation: Observation }
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'unavailable'; readonly reason: string };

/** A verified callback, reduced to what may be believed: which job, and a hint what to expect. */
export type CallbackVerdict =
  | {
      readonly ok: true;
      readonly jobId: string | null;
      /** From signed content only; null makes the body's hash the identity. */
      readonly eventId: string | null;
      readonly type: string;
      readonly terminal: boolean;
      readonly progress: number | null;
    }
  /** `unavailable`: the keys to verify with could not be had now; the provider must send it again. */
  | { readonly ok: false; readonly reason: 'unverified' | 'malformed' | 'unavailable' };

/** One job as the provider's list shows it. */
export interface ListedJob {
  readonly handle: ProviderHandle;
  readonly status: string;
  /** What of ours the list shows: the callback URL that was sent, our external id. Never matched by anything else. */
  readonly callbackUrl: string | null;
  readonly externalId: string | null;
}

/** What an adapter is given for one call: the credential that this submission belongs to. */
export interface ProviderCredential {
  readonly name: string;
  readonly apiKey: string;
}

export interface CallOptions {
  readonly credential: ProviderCredential;
  readonly timeoutMs: number;
}

/** What a submit is built from; `input` holds the fields of input-fields.ts. */
export interface SubmitJob {
  readonly method: Method;
  readonly providerModel: string;
  readonly input: JsonObject;
  readonly params: JsonObject;
  readonly callbackUrl: string | null;
  /** What the callbacks are to be signed with, in the body; given with `callbackUrl` where `ownCallbackSecrets` asks for it. */
  readonly callbackSecret?: string;
  readonly idempotencyKey: string;
}

/**
 * The port that every provider implements, in one file per provider and API version. Expected answers are
 * returned, never thrown; a throw means a defect of the adapter.
 */
export interface Provider {
  readonly name: string;
  readonly capabilities: ProviderCapabilities;
  /** true: each submit names the secret that its own callbacks are signed with; else the account's secrets sign. */
  readonly ownCallbackSecrets?: boolean;
  /** true: it takes no links, so the files of an input stand in the submit with PUBLIC_URL too (frozen-submit.ts, inlineParts). */
  readonly inlineInputsOnly?: boolean;
  /** The methods that it offers with the input fields that each can take; the catalogue is checked against it. */
  readonly methods: Readonly<Partial<Record<Method, readonly InputField[]>>>;
  /**
   * Pure: the frozen bytes of a submit. `params` are the route's own members for the provider; `callbackUrl` null =
   * none is asked for. The key is for providers that carry an external id in the body. @throws on a field not in `methods`
   */
  buildSubmit(job: SubmitJob): SubmitRequest;
  submit(request: SubmitRequest, idempotencyKey: string, options: CallOptions): Promise<SubmitAnswer>;
  observe(handle: ProviderHandle, options: CallOptions): Promise<Observation>;
  /** The states of several jobs by one call, in the same order, where the provider's list can be asked by ids. */
  observeMany?(handles: readonly ProviderHandle[], options: CallOptions): Promise<readonly Observation[]>;
  cancel(handle: ProviderHandle, options: CallOptions): Promise<CancelAnswer>;
  /** Jobs of this credential, newest first; for reconciliation, never to match by resemblance. */
  list?(
    window: { readonly after: string | null; readonly limit: number },
    options: CallOptions,
  ): Promise<
    | { readonly kind: 'page'; readonly jobs: readonly ListedJob[]; readonly nextCursor: string | null }
    | { readonly kind: 'unavailable'; readonly reason: string }
  >;
  /** Finds a job by our key or external id, where the provider can. */
  find?(
    idempotencyKey: string,
    options: CallOptions,
  ): Promise<
    | { readonly kind: 'found'; readonly handle: ProviderHandle }
    | { readonly kind: 'not_found' }
    | { readonly kind: 'unavailable'; readonly reason: string }
  >;
  /** The models that it offers now, by the names that routes give, where it has such a list; for checks by hand. */
  listModels?(
    job: Pick<SubmitJob, 'method' | 'params'>,
    options: CallOptions,
  ): Promise<
    | { readonly kind: 'models'; readonly models: readonly string[] }
    | { readonly kind: 'unavailable'; readonly reason: string }
  >;
  /**
   * The JSON body that answers a provider's check of our callback URL; null when the body is no such check. Asked once the
   * token in the path has verified, before `verifyCallback`; what it repeats of the body is short visible text.
   */
  challengeAnswer?(rawBody: Uint8Array): string | null;
  /** Verifies over the raw bytes; `nowMs` is an argument so that tolerance is testable. */
  verifyCallback(
    headers: Readonly<Record<string, string | undefined>>,
    rawBody: Uint8Array,
    secrets: readonly string[],
    nowMs: number,
  ): CallbackVerdict | Promise<CallbackVerdict>;
  /** The handle of a job that is known by its id (from a callback) and by the bytes that were sent for it. */
  handleFromJobId(jobId: string, request: Pick<SubmitRequest, 'path' | 'body'>): ProviderHandle;
  /** Hosts (exact, or `*.suffix`) from which outputs may be fetched. */
  readonly outputHosts: readonly string[];
  /** Headers for a download from this URL; empty unless the provider's own host asks for its key. */
  downloadAuth(url: URL, credential: ProviderCredential): Readonly<Record<string, string>>;
}
