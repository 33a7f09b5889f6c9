import { randomUUID } from 'node:crypto';
import type { FaultList } from './faults.ts';
import { newJobJournal, type Journal, type JobJournal } from './journal.ts';

/** The states that every provider has in some spelling. */
export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled';

/** What was asked for. */
export interface JobRequest {
  readonly model: string;
  readonly prompt: string;
  readonly durationSeconds: number;
  readonly webhookUrl: string | null;
  readonly idempotencyKey: string | null;
  readonly requestBody: string;
}

/** One accepted job. `output`: a link, never one, or gone. */
export interface Job extends JobRequest {
  readonly id: string;
  readonly createdAtMs: number;
  status: JobStatus;
  startedAtMs: number | null;
  completedAtMs: number | null;
  expiresAtMs: number | null;
  output: 'link' | 'empty' | 'null';
  errorCode: string | null;
  readonly journal: JobJournal;
}

export interface JobsOptions {
  readonly renderMs: number;
  readonly outputTtlMs: number;
}

const MAX_JOBS = 50_000;
const MAX_TIMER_MS = 2_147_483_647;

export const isEnded = (status: JobStatus): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'canceled';

/** All jobs and their renders. A cancel never stops a render: the journal still counts it as done. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #faults: FaultList;
  readonly #journal: Journal;
  readonly #onEnded: (job: Job) => void;
  readonly #jobs = new Map<string, Job>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: JobsOptions, faults: FaultList, journal: Journal, onEnded: (job: Job) => void) {
    this.#options = options;
    this.#faults = faults;
    this.#journal = journal;
    this.#onEnded = onEnded;
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  /** Newest first. */
  all(): readonly Job[] {
    return [...this.#jobs.values()].reverse();
  }

  /** Takes the job and starts its render; the oldest job is forgotten beyond 50 000. */
  accept(request: JobRequest): Job {
    const job: Job = {
      ...request,
      id: `job_${randomUUID().replaceAll('-', '')}`,
      createdAtMs: Date.now(),
      status: 'queued',
      startedAtMs: null,
      completedAtMs: null,
      expiresAtMs: null,
      output: 'link',
      errorCode: null,
      journal: newJobJournal(),
    };
    this.#jobs.set(job.id, job);
    const oldest = this.#jobs.size > MAX_JOBS ? this.#jobs.keys().next().value : undefined;
    if (oldest !== undefined) this.#jobs.delete(oldest);
    this.#journal.count('accepted');
    this.#render(job);
    return job;
  }

  /** Moves a job to an end state once; later calls change nothing. */
  end(job: Job, status: JobStatus, errorCode: string | null = null): void {
    if (isEnded(job.status)) return;
    job.status = status;
    job.errorCode = errorCode;
    job.completedAtMs = Date.now();
    if (status === 'succeeded') job.expiresAtMs ??= job.completedAtMs + this.#options.outputTtlMs;
    this.#onEnded(job);
  }

  /** Ends the render now, as the faults say; a job is rendered once. */
  finish(job: Job): void {
    if (job.journal.renders_done > 0) return;
    job.journal.renders_done++;
    this.#journal.count('renders_done');
    const failure = this.#faults.take(job.prompt, 'fail', 'moderated');
    const empty = this.#faults.take(job.prompt, 'succeeded_without_output');
    if (empty !== undefined) job.output = empty.output;
    if (failure === undefined) this.end(job, 'succeeded');
    else this.end(job, 'failed', failure.kind === 'fail' ? failure.code : 'content_policy_violation');
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
      if (job.status !== 'queued') return;
      job.status = 'running';
      job.startedAtMs = Date.now();
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
