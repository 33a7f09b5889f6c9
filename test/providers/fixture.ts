import type { JsonObject } from '../../src/domain/json.ts';
import type {
  CancelAnswer,
  Observation,
  Provider,
  ProviderHandle,
  SubmitAnswer,
  SubmitJob,
} from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import type { MediaKind } from '../../src/simulators/media/kinds.ts';
import type { ProviderSimulator } from '../../src/simulators/protocol.ts';
import type { ScriptedAnswer, SeenRequest } from './scripted-server.ts';

/**
 * One row: what the provider answers, and what that must mean. A function is given the server's address (for URLs in
 * answers and handles), or, for answers, each request (for a provider that needs several).
 */
export interface Row<T> {
  readonly name: string;
  readonly answer: ScriptedAnswer | ((request: SeenRequest, baseUrl: string) => ScriptedAnswer);
  readonly expect: T | ((baseUrl: string) => T);
}

type Headers = Readonly<Record<string, string>>;

interface AnyCallbacks {
  /** A callback about this job. */
  readonly body: (jobId: string) => string;
  /** What a good one tells, beside `ok` and the job's id. */
  readonly verdict: {
    readonly eventId: string | null;
    readonly type: string;
    readonly terminal: boolean;
    readonly progress: number | null;
  };
}

/** No signature: only the token in our own URL vouches for it. */
interface UnsignedCallbacks extends AnyCallbacks {
  readonly kind: 'unsigned';
}

/** How a provider signs; header names in lower case. */
interface SignedCallbacks extends AnyCallbacks {
  readonly kind: 'signed';
  readonly secret: string;
  /** The same secret in the forms that this provider does not use as a key. */
  readonly wrongKeyForms: readonly string[];
  /** The headers of a delivery, with one signature per secret where a header can carry several. */
  readonly sign: (body: Buffer, secrets: readonly string[], t: string | number) => Headers;
  /** Whether a time is signed, with a tolerance of 300 s. */
  readonly timestamped: boolean;
  /** Whether one delivery can carry several signatures. */
  readonly manySignatures: boolean;
  /** Headers that never verify, made from good ones. */
  readonly forgeries: readonly (readonly [name: string, forge: (good: Headers) => Headers])[];
  /**
   * For keys that the adapter fetches: what their server answers while these secrets are active. The suite makes a new
   * adapter for each set of secrets then, and hands it none.
   */
  readonly keySet?: (secrets: readonly string[]) => ScriptedAnswer;
  /** What the adapter is configured with instead of secrets, with a key set (an account's id). Default: nothing. */
  readonly configured?: readonly string[];
}

/** What the contract suite needs to know of one provider. */
export interface ProviderFixture {
  readonly name: string;
  readonly create: (http: OutboundHttp, baseUrl: string, nowMs?: () => number) => Provider;
  /** The time at which the rows below are answered. */
  readonly nowMs: number;
  readonly simulator: ProviderSimulator;
  /** All but prompt, callback URL and key of a submit that the simulator takes. */
  readonly job: Pick<SubmitJob, 'method' | 'providerModel' | 'params'>;
  readonly input: (prompt: string) => JsonObject;
  readonly apiKey: string;
  /** The id in the scripted answers below; one that the simulator does not know. */
  readonly jobId: string;
  /** The handle of that job, where it holds more than the id. */
  readonly handle?: (baseUrl: string) => ProviderHandle;
  readonly submitRows: readonly Row<SubmitAnswer>[];
  readonly observeRows: readonly Row<Observation>[];
  readonly cancelRows: readonly Row<CancelAnswer>[];
  /** null = none, so nothing ever verifies. */
  readonly callbacks: SignedCallbacks | UnsignedCallbacks | null;
  /** An output URL on the provider's own host, and one elsewhere. */
  readonly outputUrls: { readonly own: string; readonly foreign: string };
  /** What it makes; default video. */
  readonly media?: MediaKind;
  /** Where this provider's life against its simulator differs; the defaults fit INFRO. */
  readonly life?: {
    /** What `Retry-After: 7` on a 429 gives; default 7000. */
    readonly capacityRetryAfterMs?: number | null;
    /** What `refuse` with 400 means; default refused. */
    readonly refused?: Partial<SubmitAnswer>;
    /** How a moderated job is told; default failed, content_rejected. */
    readonly moderated?: Partial<Observation>;
    /** What is seen once outputs have expired; default succeeded without outputs. */
    readonly expired?: Partial<Observation>;
    /** What a success without output means; default failed, no_output. */
    readonly emptyOutput?: Partial<Observation>;
    /** What a success whose output is null means; default failed, no_output. */
    readonly nullOutput?: Partial<Observation>;
    /** true: only a job that waits in the queue can be cancelled there. */
    readonly cancelsQueuedOnly?: boolean;
    /** What a cancel of an open job answers, and what is observed after it; default cancelled, both. */
    readonly cancelled?: { readonly answer: object; readonly observation: Partial<Observation> };
    /** What a cancel answers of a job that was done just before it came; default its success. */
    readonly lateCancel?: object;
    /** What a cancel answers when the provider answers 503; default unavailable, http_503. */
    readonly failedCancel?: object;
    /** What an unknown status string gives; default running, flagged. */
    readonly unknownStatus?: Partial<Observation>;
    /** The fault that refuses content at submit gives; default refused, content_rejected. */
    readonly contentRefused?: Partial<SubmitAnswer>;
  };
}

export const CREDENTIAL_NAME = 'default';

/** A row's value for a server at this address. */
export function at<T>(value: T | ((baseUrl: string) => T), baseUrl: string): T {
  return typeof value === 'function' ? (value as (baseUrl: string) => T)(baseUrl) : value;
}
