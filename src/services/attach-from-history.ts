import { findSubmitted, recordStrayJob } from '../db/recover.ts';
import { recordSubmission } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import type { Provider } from '../domain/provider.ts';
import type { Trace, TracedJob } from '../temporal/histories.ts';

/** By when its run must have looked at it; the workers start later than this in any case. */
const DUE_MS = 1_000;

export interface AttachDeps {
  readonly db: Db;
  /** Adapters by name, and under which credential new submissions go. */
  readonly providers: ReadonlyMap<
    string,
    { readonly provider: Provider; readonly current: { readonly name: string } }
  >;
}

/** A job that a history names: attached (again) to its submission, or on record as one that no row names. */
export type TracedOutcome =
  | {
      readonly outcome: 'attached' | 'second' | 'taken';
      readonly submissionId: string;
      readonly jobId: string;
    }
  | { readonly outcome: 'stray'; readonly provider: string; readonly jobId: string };

/**
 * Gives the jobs that a generation's histories name back to their submissions. Those of steps that did not tell their
 * submission belong to `submissionId` if its provider is theirs.
 */
export async function attachFromHistory(
  deps: AttachDeps,
  trace: Trace,
  submissionId: string | null,
): Promise<TracedOutcome[]> {
  const outcomes: TracedOutcome[] = [];
  for (const job of trace.jobs) outcomes.push(...(await attach(deps, job, submissionId)));
  return outcomes;
}

async function attach(
  deps: AttachDeps,
  job: TracedJob,
  submissionId: string | null,
): Promise<TracedOutcome[]> {
  const { provider, jobId } = job;
  const id = job.submissionId ?? submissionId;
  const row = id === null ? null : await findSubmitted(deps.db, id);
  if (row === null || row.provider !== provider) return recordStray(deps, job);
  if (row.jobId === jobId) return [];
  const adapter = deps.providers.get(provider);
  // Its run finds it once the provider is configured again.
  if (adapter === undefined) return [];
  const { outcome } = await recordSubmission(deps.db, {
    submissionId: row.id,
    kind: 'accepted',
    jobId,
    handle: adapter.provider.handleFromJobId(jobId, row.request),
    providerStatus: null,
    dueInMs: DUE_MS,
  });
  const as = { job_taken: 'taken', orphan: 'second' } as const;
  const told = outcome === 'job_taken' || outcome === 'orphan' ? as[outcome] : 'attached';
  return [{ outcome: told, submissionId: row.id, jobId }];
}

/** Jobs whose generation has no row any more. */
export async function recordStrays(deps: AttachDeps, trace: Trace): Promise<TracedOutcome[]> {
  const outcomes = await Promise.all(trace.jobs.map((job) => recordStray(deps, job)));
  return outcomes.flat();
}

async function recordStray(
  { db, providers }: AttachDeps,
  { provider, jobId, submissionId }: TracedJob,
): Promise<TracedOutcome[]> {
  // Histories hold no credential: new submissions go under the current one.
  const credential = providers.get(provider)?.current.name ?? 'default';
  const isNew = await recordStrayJob(db, { provider, credential, jobId, submissionId, foundBy: 'history' });
  return isNew ? [{ outcome: 'stray', provider, jobId }] : [];
}
