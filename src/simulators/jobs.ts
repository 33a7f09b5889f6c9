import type { FaultList } from './faults.ts';
import { newJobJournal, type Journal, type JobJournal } from './journal.ts';
import type { MediaKind } from './media/kinds.ts';

/** The life of every job, whatever its provider calls it; `moderated` is an end that the provider words its own way. */
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'moderated' | 'cancelled';

/** What was asked for, read from a provider's own request. */
export interface JobRequest {
  /** In the provider's own form; new for every job. */
  readonly id: string;
  readonly model: string;
  /** The text that faults are matched with. */
  readonly prompt: string;
  readonly media: MediaKind;
  /** How many files the job makes. */
  readonly outputCount: number;
  readonly durationSeconds: number;
  readonly webhookUrl: string | null;
  readonly idempotencyKey: string | null;
  /** Our own id, where the provider takes one. */
  readonly externalId: string | null;
  /** The file to work from: a URL or a `data:` URI. Read once the job is taken. */
  readonly inputUrl?: string | undefined;
  /** What the protocol wants to remember of the request (an event filter, a path). */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One accepted job. `output`: links, never one, or gone. */
export interface Job extends JobRequest {
  readonly requestBody: string;
  readonly createdAtMs: number;
  state: JobState;
  startedAtMs: number | null;
  completedAtMs: number | null;
  expiresAtMs: number | null;
  output: 'link' | 'empty' | 'null';
  errorCode: string | null;
  /** true = the provider shows it no more; the journal still does. */
  deleted: boolean;
  readonly journal: JobJournal;
}

export interface JobsOptions {
  readonly renderMs: number;
  readonly outputTtlMs: number;
}

const MAX_JOBS = 50_000;
const MAX_TIMER_MS = 2_147_483_647;

export const isEnded = (state: JobState): boolean => state !== 'queued' && state !== 'running';

/** Whether the provider has removed what the job made. */
export const isExpired = (job: Job): boolean => job.expiresAtMs !== null && Date.now() >= job.expiresAtMs;

/** Unix seconds, rounded down; null stays null. */
export const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** All jobs and their renders. `onChange` is told each new state of a job, `queued` included. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #faults: FaultList;
  readonly #journal: Journal;
  readonly #onChange: (job: Job) => void;
  readonly #jobs = new Map<string, Job>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: JobsOptions, faults: FaultList, journal: Journal, onChange: (job: Job) => void) {
    this.#options = options;
    this.#faults = faults;
    this.#journal = journal;
    this.#onChange = onChange;
  }

  /** A job as the provider shows it; undefined for a deleted one. */
  get(id: string): Job | undefined {
    const job = this.#jobs.get(id);
    return job?.deleted === true ? undefined : job;
  }

  /** Those that the provider shows, newest first. */
  all(): readonly Job[] {
    return this.accepted().filter((job) => !job.deleted);
  }

  /** All that were ever taken, deleted ones included, newest first. */
  accepted(): readonly Job[] {
    return [...this.#jobs.values()].reverse();
  }

  /** Takes the job and starts its render; the oldest job is forgotten beyond 50 000. */
  accept(request: JobRequest, requestBody: string): Job {
    const job: Job = {
      ...request,
      requestBody,
      createdAtMs: Date.now(),
      state: 'queued',
      startedAtMs: null,
      completedAtMs: null,
      expiresAtMs: null,
      output: 'link',
      errorCode: null,
      deleted: false,
      journal: newJobJournal(),
    };
    this.#jobs.set(job.id, job);
    const oldest = this.#jobs.size > MAX_JOBS ? this.#jobs.keys().next().value : undefined;
    if (oldest !== undefined) this.#jobs.delete(oldest);
    this.#journal.count('accepted');
    this.#onChange(job);
    this.#render(job);
    return job;
  }

  /** Moves a job to an end state once; later calls change nothing. A render under way goes on. */
  end(job: Job, state: JobState, errorCode: string | null = null): void {
    if (isEnded(job.state)) return;
    job.state = state;
    job.errorCode = errorCode;
    // On a busy machine both timers may fire in one millisecond; no render takes none.
    job.completedAtMs = Math.max(Date.now(), (job.startedAtMs ?? job.createdAtMs) + 1);
    // An end that comes before the render began: no provider tells a success that was never started.
    if (state === 'succeeded') {
      job.startedAtMs ??= job.createdAtMs;
      job.expiresAtMs ??= job.completedAtMs + this.#options.outputTtlMs;
    }
    this.#onChange(job);
  }

  /** Ends it as cancelled before its render is done, so that nothing is rendered. */
  stop(job: Job): void {
    if (isEnded(job.state)) return;
    job.journal.stopped = true;
    this.end(job, 'cancelled');
  }

  /** Ends the render now, as the faults say; a job is rendered once. */
  finish(job: Job): void {
    if (job.journal.renders_done > 0 || job.journal.stopped) return;
    job.journal.renders_done++;
    this.#journal.count('renders_done');
    const failure = this.#faults.take(job.prompt, 'fail', 'moderated');
    const empty = this.#faults.take(job.prompt, 'succeeded_without_output');
    if (empty !== undefined) job.output = empty.output;
    if (failure === undefined) this.end(job, 'succeeded');
    else if (failure.kind === 'moderated') this.end(job, 'moderated');
    else this.end(job, 'failed', failure.code);
  }

  /** Forgets all jobs and renders. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#jobs.clear();
  }

  #render(job: Job): void {
    if (this.#faults.take(job.prompt, 'callback_before_answer') !== undefined) {
      this.finish(job);
      return;
    }
    const stuck = this.#faults.take(job.prompt, 'stuck') !== undefined;
    const renderMs = this.#faults.take(job.prompt, 'render_ms')?.ms ?? this.#options.renderMs;
    this.#after(renderMs / 4, () => {
      if (job.state !== 'queued') return;
      job.state = 'running';
      job.startedAtMs = Date.now();
      this.#onChange(job);
    });
    if (!stuck) this.#after(renderMs, () => this.finish(job));
  }

  #after(delayMs: number, run: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        run();
      },
      Math.min(delayMs, MAX_TIMER_MS),
    );
    timer.unref();
    this.#timers.add(timer);
  }
}
