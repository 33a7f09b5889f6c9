import type { Fault } from '../../src/simulators/faults.ts';

/** One generation as the tenant asked for it. */
export interface Asked {
  /** Nobody else's, so that jobs of the simulators can be told apart. */
  readonly prompt: string;
  readonly model: string;
  readonly idempotencyKey: string;
  /** Credits account of the tenant; each generation holds its price there. */
  readonly account: string;
  /** The last answer: its status, or null when none came; 202 = it was taken. */
  status: number | null;
  /** From the 202, else null. */
  id: string | null;
  /** The bytes of each 202 that came for this key: they must all be the same. */
  readonly answers: string[];
  /** A cancel was answered with 200 or 202. */
  cancelled: boolean;
  /** A cancel was sent, whatever became of it; absent where the run does not tell. */
  cancelSent?: boolean;
  /** It has a `callback_url`, beside the tenant's endpoint. */
  readonly toldByUrl: boolean;
}

/** One webhook as the tenant's receiver got it, whatever it answered. */
export interface Received {
  readonly atMs: number;
  /** The `webhook-id` header. */
  readonly id: string;
  readonly type: string;
  readonly generationId: string;
  readonly attempt: number;
  /** Which receiver: the endpoint, or the generation's callback_url. */
  readonly receiver: 'endpoint' | 'callback_url';
  /** Signed by a secret that it knows, over these very bytes. */
  readonly verified: boolean;
  /** The `data` of the body without its links. */
  readonly data: unknown;
  /** What the receiver answered: a status, or how it broke off. */
  readonly answer: number | string;
}

/** A fault of a simulator, and since when it is in force; absent = from the start. */
export type SetFault = Fault & { readonly fromMs?: number };

/** One fault that was done to the stack, or to one of its neighbours. */
export interface Struck {
  readonly name: string;
  readonly detail: string;
  readonly fromMs: number;
  /** When it ended; recovery is measured from here. */
  readonly toMs: number;
}

/** The end of one of our processes, whoever ended it. */
export interface Death {
  /** `api-1`, `worker-2` … */
  readonly slot: string;
  readonly atMs: number;
}

/** A link while not everything passed on it. */
export interface Disturbed {
  /** See `ChaosStack.links`. */
  readonly link: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** An answer of the API that no client should see: an undocumented status, a 5xx without Retry-After, no problem document. */
export interface OddAnswer {
  readonly atMs: number;
  readonly request: string;
  readonly status: number;
  readonly body: string;
}

/** All that is left when the quiet period is over: what the three books are read from. */
export interface World {
  readonly seed: number;
  /** Past every proxy. */
  readonly databaseUrl: string;
  readonly apiUrl: string;
  readonly temporalAddress: string;
  readonly storageUrl: string;
  /** URLs by the provider's name. */
  readonly simulators: Readonly<Record<string, string>>;
  /** API key by the provider's name. */
  readonly simulatorKeys: Readonly<Record<string, string>>;
  /** Faults that were in force at the simulators, by provider. */
  readonly providerFaults: Readonly<Record<string, readonly SetFault[]>>;
  readonly asked: readonly Asked[];
  readonly received: readonly Received[];
  readonly struck: readonly Struck[];
  readonly deaths: readonly Death[];
  readonly disturbed: readonly Disturbed[];
  /** Ids of the runs that we terminated or reset. */
  readonly endedRuns: readonly string[];
  readonly oddAnswers: readonly OddAnswer[];
  /** The folder of all log files. */
  readonly logs: string;
  /** Strings that must be in no log, no history and no webhook. */
  readonly secrets: readonly string[];
  /** Signatures of links and watch tokens that the tenant was given: in no log and no history. */
  readonly tokens?: readonly string[];
}

/** Something that the promise of design.md §4 forbids. */
export interface Violation {
  /** The check that found it, by name. */
  readonly check: string;
  /** null = it has to do with no single generation. */
  readonly generation: string | null;
  readonly problem: string;
  /** The generation's story from all three books, told for a person. */
  readonly story?: string;
}
