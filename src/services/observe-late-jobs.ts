import {
  claimLateObservations,
  postponeLateSearch,
  recordLateCancel,
  recordLateLook,
  recordSubmission,
  type Db,
  type LateObservation,
} from '../db/index.ts';
import { noteNamedJob } from '../db/submissions.ts';
import type { CallbackUrls } from '../domain/callback-urls.ts';
import type {
  CallOptions,
  Observation,
  Provider,
  ProviderCredential,
  ProviderHandle,
} from '../domain/provider.ts';
import { findOurJob } from '../providers/find-job.ts';

/** What a look after the end needs: the providers with the credentials that submitted. */
export interface LateContext {
  readonly db: Db;
  readonly providers: ReadonlyMap<
    string,
    { readonly provider: Provider; readonly credential: (name: string) => ProviderCredential | undefined }
  >;
  readonly callbacks: Pick<CallbackUrls, 'submissionOf'>;
  /** Told of a job that succeeded after its generation had ended without it. */
  readonly onLateSuccess: (submissionId: string) => void;
}

const LEASE_MS = 60_000;
/** Of the jobs that were named for one submission, the latest. */
const MOST_NAMED = 2;
const NOT_ASKED: Observation = {
  kind: 'unavailable',
  reason: 'unknown_credential',
  denied: true,
  retryAfterMs: null,
};

/**
 * Looks once at each job whose generation has ended without knowing its end (after 1, 6 and 24 hours, or when a callback
 * says that it ended), or searches for one that was never known: what it cost is booked, a late success is recorded;
 * nothing changes for the tenant.
 * @returns how many were looked at
 */
export async function observeLateJobs(ctx: LateContext, limit: number): Promise<number> {
  const jobs = await claimLateObservations(ctx.db, {
    limit,
    leaseMs: LEASE_MS,
    providers: [...ctx.providers.keys()],
  });
  const looks = await Promise.allSettled(jobs.map((job) => observeLateJob(ctx, job)));
  const failed = looks.find((look) => look.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return jobs.length;
}

async function observeLateJob(ctx: LateContext, job: LateObservation): Promise<void> {
  const access = ctx.providers.get(job.provider);
  const credential = access?.credential(job.credential);
  if (access === undefined || credential === undefined) {
    // Counts as a look that failed: it comes again, but not for ever.
    if (job.handle === null) await postponeLateSearch(ctx.db, job.submissionId, true);
    else await recordLateLook(ctx.db, job.submissionId, NOT_ASKED);
    throw new Error('the credential that submitted a late job is gone: configure it again');
  }
  const options = { credential, timeoutMs: job.timeoutMs };
  if (job.handle === null) {
    await searchJob(ctx, job, access.provider, options);
    return;
  }
  const observation = await access.provider.observe(job.handle, options);
  if (await recordLateLook(ctx.db, job.submissionId, observation)) ctx.onLateSuccess(job.submissionId);
}

/** What is found is attached to its ended generation; one that still renders is asked once to stop, and looked at again. */
async function searchJob(
  ctx: LateContext,
  job: LateObservation,
  provider: Provider,
  options: CallOptions,
): Promise<void> {
  const { submissionId, idempotencyKey } = job;
  const named = await findNamed(ctx.db, job, provider, options);
  const found =
    typeof named === 'string'
      ? await findOurJob(provider, { submissionId, idempotencyKey }, ctx.callbacks, options)
      : named.handle;
  if (typeof found === 'string') {
    await postponeLateSearch(ctx.db, submissionId, named === 'unavailable' || found === 'unavailable');
    return;
  }
  const { outcome } = await recordSubmission(ctx.db, {
    submissionId,
    kind: 'accepted',
    jobId: found.jobId,
    handle: found,
    providerStatus: null,
    dueInMs: 0,
  });
  // It belongs to another submission, and does so at the next search as well.
  if (outcome === 'job_taken') await postponeLateSearch(ctx.db, submissionId);
  if (outcome !== 'attached_late') return;
  const seen = typeof named === 'string' ? null : named.observation;
  const hasSucceeded =
    seen !== null && seen.kind !== 'running'
      ? await recordLateLook(ctx.db, submissionId, seen)
      : await recordLateCancel(ctx.db, submissionId, await provider.cancel(found, options));
  if (hasSucceeded) ctx.onLateSuccess(submissionId);
}

/** The job that a callback or an operator named, when the provider knows it. */
async function findNamed(
  db: Db,
  { submissionId, named, request }: LateObservation,
  provider: Provider,
  options: CallOptions,
): Promise<{ handle: ProviderHandle; observation: Observation } | 'none' | 'unavailable'> {
  let unavailable = false;
  if (request === null) return 'none';
  for (const jobId of [...new Set(named)].slice(0, MOST_NAMED)) {
    const handle = provider.handleFromJobId(jobId, request);
    const observation = await provider.observe(handle, options);
    const { kind } = observation;
    if (kind !== 'not_found' && kind !== 'unavailable') return { handle, observation };
    unavailable ||= kind === 'unavailable';
    const problem = kind === 'not_found' ? 'named_job_not_found' : 'named_job_unavailable';
    await noteNamedJob(db, { submissionId, problem });
  }
  return unavailable ? 'unavailable' : 'none';
}
