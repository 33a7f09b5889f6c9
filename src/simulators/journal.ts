const MAX_REQUESTS = 5_000;
const MAX_CALLBACK_RECORDS = 50;

/** One delivery of a callback: `answer` is the HTTP status, or why there was none. */
export interface CallbackRecord {
  readonly event_id: string;
  readonly type: string;
  readonly attempt: number;
  readonly forged: boolean;
  readonly at: string;
  readonly answer: number | string;
}

/** The file that a job was given, as it was read: `answer` is the HTTP status of its link, or why there was none. */
export interface InputRecord {
  readonly source: 'link' | 'inline';
  readonly answer: number | string;
  readonly media_type: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
}

/** What was done to one accepted job. */
export interface JobJournal {
  submits: number;
  observes: number;
  cancels: number;
  downloads: number;
  renders_done: number;
  /** A cancel ended it before its render was done. */
  stopped: boolean;
  callbacks: CallbackRecord[];
  callbacks_dropped: number;
  /** null = it was given none, or has not read it yet. */
  input: InputRecord | null;
}

/** One request to the provider's API, also those that accepted nothing. */
export interface RequestRecord {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly authorized: boolean;
  readonly idempotency_key: string | null;
  readonly prompt: string | null;
}

const TOTALS = {
  submits: 0,
  accepted: 0,
  replayed: 0,
  observes: 0,
  lists: 0,
  finds: 0,
  cancels: 0,
  downloads: 0,
  renders_done: 0,
  callbacks_sent: 0,
  unauthorized: 0,
};
export type Total = keyof typeof TOTALS;

export function newJobJournal(): JobJournal {
  return {
    submits: 1,
    observes: 0,
    cancels: 0,
    downloads: 0,
    renders_done: 0,
    stopped: false,
    callbacks: [],
    callbacks_dropped: 0,
    input: null,
  };
}

/** Totals since the last reset and the newest requests; bounded, oldest go first. */
export class Journal {
  #totals = { ...TOTALS };
  #requests: RequestRecord[] = [];

  count(total: Total): void {
    this.#totals[total]++;
  }

  request(record: Omit<RequestRecord, 'at'>): void {
    this.#requests.push({ at: new Date().toISOString(), ...record });
    if (this.#requests.length > 2 * MAX_REQUESTS) this.#requests = this.#requests.slice(-MAX_REQUESTS);
  }

  callback(job: JobJournal | undefined, record: Omit<CallbackRecord, 'at'>): void {
    this.count('callbacks_sent');
    if (job === undefined) return;
    if (job.callbacks.length >= MAX_CALLBACK_RECORDS) job.callbacks_dropped++;
    else job.callbacks.push({ at: new Date().toISOString(), ...record });
  }

  reset(): void {
    this.#totals = { ...TOTALS };
    this.#requests = [];
  }

  snapshot(): {
    readonly totals: Readonly<Record<Total, number>>;
    readonly requests: readonly RequestRecord[];
  } {
    return { totals: { ...this.#totals }, requests: this.#requests.slice(-MAX_REQUESTS) };
  }
}
