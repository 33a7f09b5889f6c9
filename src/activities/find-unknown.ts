import { recordSubmission } from '../db/index.ts';
import type { LoadedGeneration, LoadedSubmission } from '../db/index.ts';
import { noteNamedJob } from '../db/submissions.ts';
import type { ProviderHandle } from '../domain/provider.ts';
import type { Step } from '../domain/step.ts';
import { findOurJob } from '../providers/find-job.ts';
import { cancelLateJob } from './cancel-late-job.ts';
import type { ActivityDeps } from './deps.ts';
import { stepBroken } from './failures.ts';
import { accessOf, againStep, settleStep, viewOf } from './steps.ts';
import { firstPollMs } from './waiting.ts';

/** What a search for the job of an unknown submission brought. */
export type Search =
  | { readonly kind: 'step'; readonly step: Step }
  /** The provider knows no job of our external id, long after the lease: the same bytes may be sent again. */
  | { readonly kind: 'resend' }
  | { readonly kind: 'unknown' };

type Found = Awaited<ReturnType<typeof findOurJob>>;

/**
 * Whether an unknown submission can be told now: by a find at the provider, by a job id that a verified callback named,
 * or by the provider's list where it echoes what is ours; never by resemblance. Past the deadline it ends unresolved.
 */
export async function findUnknownJob(deps: ActivityDeps, loaded: LoadedGeneration): Promise<Search> {
  const { generation, submission } = loaded;
  if (submission === null) return { kind: 'unknown' };
  const found = await search(deps, loaded, submission);
  if (typeof found !== 'string') return { kind: 'step', step: await attach(deps, loaded, submission, found) };
  if (submission.state === 'unknown' && generation.deadlineInMs <= 0) {
    const proposal = { state: 'expired', errorCode: 'submission_unresolved' } as const;
    return { kind: 'step', step: settleStep(loaded, proposal) };
  }
  const { submitLeaseMs, notFoundGraceMs } = generation.plan.timings;
  // Not of the first send: an earlier one may have been refused for capacity long before the one that was lost.
  const longAgo = (submission.sinceSentMs ?? 0) > submitLeaseMs + notFoundGraceMs;
  return { kind: found === 'none' && longAgo ? 'resend' : 'unknown' };
}

async function attach(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  submission: LoadedSubmission,
  handle: ProviderHandle,
): Promise<Step> {
  const { generation } = loaded;
  const inMs = firstPollMs(generation.plan, submission.callbacks);
  const record = await recordSubmission(deps.db, {
    submissionId: submission.id,
    kind: 'accepted',
    jobId: handle.jobId,
    handle,
    providerStatus: null,
    dueInMs: inMs,
  });
  if (record.outcome === 'job_taken') throw stepBroken('job_taken');
  if (record.outcome === 'attached_late') {
    // It was ended, or declared not accepted, while we asked.
    const { provider, options } = callsOf(deps, submission, generation);
    await cancelLateJob(deps, { submissionId: submission.id, handle, provider, ...options });
    return againStep(deps, loaded, 'row_moved_on', 0);
  }
  const asked = record.cancelRequested || record.terminalHint;
  return {
    step: 'wait',
    inMs: asked || loaded.hints.some(({ terminal }) => terminal) ? 0 : inMs,
    deadlineInMs: generation.deadlineInMs,
    view: viewOf(loaded, { state: 'running', stage: 'waiting', jobId: handle.jobId, problem: null }),
  };
}

function callsOf(deps: ActivityDeps, submission: LoadedSubmission, { plan }: LoadedGeneration['generation']) {
  const { provider, credential } = accessOf(deps, submission.provider);
  const used = credential(submission.credential);
  if (used === undefined) throw stepBroken('unknown_credential');
  return { provider, options: { credential: used, timeoutMs: plan.timings.observeHttpTimeoutMs } };
}

async function search(
  deps: ActivityDeps,
  { generation, hints }: LoadedGeneration,
  submission: LoadedSubmission,
): Promise<Found> {
  const { provider, options } = callsOf(deps, submission, generation);
  const named = [...new Set(hints.flatMap(({ jobId }) => (jobId === null ? [] : [jobId])))];
  let problem: 'named_job_not_found' | 'named_job_unavailable' | null = null;
  for (const jobId of named.slice(0, 2)) {
    const handle = provider.handleFromJobId(jobId, submission.request);
    const { kind } = await provider.observe(handle, options);
    if (kind !== 'not_found' && kind !== 'unavailable') return handle;
    // One that could not be asked for may be there, whatever the other was.
    if (kind === 'unavailable') problem = 'named_job_unavailable';
    else problem ??= 'named_job_not_found';
  }
  if (problem !== null) await noteNamedJob(deps.db, { submissionId: submission.id, problem });
  const { id: submissionId, idempotencyKey } = submission;
  return findOurJob(provider, { submissionId, idempotencyKey }, deps.callbacks, options);
}
