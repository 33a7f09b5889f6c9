/** Times in milliseconds of `count` observations. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly count: number;
}

/** The ratios of the rounds: ours to bare, each round against its own neighbour. */
export interface Ratio {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: readonly number[];
}

/** What one part of the bench adds to the report. */
export interface PartReport {
  readonly ratios?: Readonly<Record<string, Ratio>>;
  /** Exact figures that do not depend on the machine. */
  readonly counts?: Readonly<Record<string, unknown>>;
  /** Milliseconds and rates by name. */
  readonly latencies?: Readonly<Record<string, unknown>>;
  readonly waiting?: unknown;
  readonly tables?: unknown;
}

/** What a part has so far, kept in case that the run is cut; each call replaces what the same part has told before. */
export type Keep = (sofar: PartReport) => void;

/** How much of each part is run. */
export interface Size {
  /** Alternating rounds of each comparison. */
  readonly rounds: number;
  /** Generations (or bare runs) of one round. */
  readonly generations: number;
  /** Generations under way at once. */
  readonly inFlight: number;
  /** Callbacks of one round of the latency measurements. */
  readonly callbacks: number;
  /** How long a load runs before what is measured beside it. */
  readonly loadWarmMs: number;
  /** Seconds of one round of requests. */
  readonly requestSeconds: number;
  /** Of one round before the first, for plans and compilers; 0 = none. */
  readonly requestWarmSeconds: number;
  /** Generations whose statements and events are counted. */
  readonly counted: number;
  /** Generations waiting at once, one step after the other. */
  readonly waiting: readonly number[];
  /** How long memory is read for its least, once all wait. */
  readonly memoryMs: number;
  /** Others that are asked for while they wait. */
  readonly posts: number;
  readonly downloadBytes: number;
  /** Finished generations in the tables. */
  readonly tables: readonly number[];
}
