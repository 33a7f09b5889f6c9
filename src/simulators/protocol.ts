import type { Announcer } from './announcer.ts';
import type { CallbackSender } from './callbacks.ts';
import type { ResolvedOptions, SimulatorOptions } from './core.ts';
import type { FaultList } from './faults.ts';
import type { Answer, Exchange } from './http.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Journal } from './journal.ts';

/** What can be wrong with a request; each provider words it its own way. */
export interface ApiError {
  readonly kind:
    | 'unauthorized'
    | 'no_such_route'
    | 'no_such_job'
    | 'unsupported_media_type'
    | 'invalid'
    | 'content_rejected'
    | 'rate_limited'
    | 'server_error'
    /** By a fault, with the code that it names. */
    | 'refused'
    | 'key_reuse'
    | 'key_in_progress'
    /** An external id that is taken. */
    | 'duplicate_id';
  /** Wanted by a fault (`server_error`, `refused`). */
  readonly status?: number;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  readonly message?: string;
  /** With `rate_limited`; also sent as the header. */
  readonly retryAfter?: string;
}

/** A callback as a provider sends it. */
export interface SimulatedEvent {
  /** The provider's event id, or one of the simulator's own where it has none. */
  readonly id: string;
  readonly type: string;
  readonly body: Buffer;
}

/** One provider's documented protocol while its simulator runs. */
export interface Protocol {
  /** A request with a valid key. */
  handle(exchange: Exchange): void | Promise<void>;
  /** Routes that need no key, such as a key set. @returns true when it answered */
  handlePublic?(exchange: Exchange): boolean;
  /** A job as the provider shows it; `status` replaces its status string. */
  jobJson(job: Job, status?: string): unknown;
  /** Whether this provider announces the state that the job has just reached. */
  announces(job: Job): boolean;
  /** The callback of the job's present state; `type` replaces what names its state. */
  event(job: Job, type?: string, eventId?: string): SimulatedEvent;
  /** For a provider that checks a callback URL before it calls there: whether this one has passed. Asked before each event. */
  mayCall?(url: string): Promise<boolean>;
  /** Its headers when it is sent at `atMs`: signature, ids. `{}` where nothing is signed. */
  callbackHeaders(
    event: SimulatedEvent,
    job: Job,
    secrets: readonly string[],
    atMs: number,
  ): Readonly<Record<string, string>>;
  /** Forgets what the protocol keeps itself (idempotency keys). */
  reset?(): void;
}

/** One provider as the simulators know it: what is fixed about its protocol, and how to start it. */
export interface ProviderSimulator {
  readonly name: string;
  /** Where this provider differs from the defaults in core.ts. */
  readonly defaults?: Partial<SimulatorOptions>;
  readonly isAuthorized: (exchange: Exchange, apiKeys: readonly string[]) => boolean;
  /** The prompt in any body, '' for none, so that faults match even on a bad request. */
  readonly promptOf: (exchange: Exchange) => string;
  /** The provider's own answer to what is wrong. */
  readonly error: (error: ApiError) => Answer;
  /** What an adapter has to be told beside the address to use this simulator: PROVIDER_<NAME>_<member>. */
  readonly adapterSettings?: (url: string) => Readonly<Record<string, string>>;
  /** Files are served only to a request with a valid key. */
  readonly filesNeedKey?: boolean;
  readonly create: (context: SimulatorContext) => Protocol;
}

/** What a protocol works with. */
export interface SimulatorContext {
  readonly provider: ProviderSimulator;
  readonly options: ResolvedOptions;
  readonly faults: FaultList;
  readonly journal: Journal;
  readonly jobs: Jobs;
  readonly sender: CallbackSender;
  readonly announcer: Announcer;
  /** Active signing secrets; replaced by `POST /_sim/secrets`. */
  secrets: readonly string[];
  baseUrl: string;
}
