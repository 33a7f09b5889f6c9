import { recordObservation, recordSubmission } from '../db/index.ts';
import type { LoadedGeneration, LoadedSubmission } from '../db/index.ts';
import type { ProviderHandle } from '../domain/provider.ts';
import type { Step } from '../domain/step.ts';
import type { ActivityDeps } from './deps.ts';
import { stepBroken } from './failures.ts';
import { accessOf, settleStep, viewOf } from './steps.ts';
import { firstPollMs } from './waiting.ts';

/**
 * Whether an unknown submission can be told now: by a job id that a verified callback named, or by a find at the
 * provider; each is observed before it is believed. Past the deadline it ends unresolved. Null = still unknown.
 */
export async function findUnknownJob(deps: ActivityDeps, loaded: LoadedGeneration): Promise<Step | null> {
  const { generation, submission } = loaded;
  if (submission === null) return null;
  const handle = await candidate(deps, loaded, submission);
  if (handle !== null) {
    const { plan } = generation;
    const inMs = firstPollMs(plan, submission.callbacks);
    const record = await recordSubmission(deps.db, {
      submissionId: submission.id,
      kind: 'accepted',
      jobId: handle.jobId,
      handle,
      providerStatus: null,
      dueInMs: inMs,
    });
    if (record.outcome === 'job_taken') throw stepBroken('job_taken');
    const asked = record.cancelRequested || record.terminalHint;
    return {
      step: 'wait',
      inMs: asked || loaded.hints.some(({ terminal }) => terminal) ? 0 : inMs,
      deadlineInMs: generation.deadlineInMs,
      view: viewOf(loaded, { state: 'running', stage: 'waiting', jobId: handle.jobId, problem: null }),
    };
  }
  if (submission.state === 'unknown' && generation.deadlineInMs <= 0) {
    return settleStep(loaded, { state: 'expired', errorCode: 'submission_unresolved' });
  }
  return null;
}

async function candidate(
  deps: ActivityDeps,
  { generation, hints }: LoadedGeneration,
  submission: LoadedSubmission,
): Promise<ProviderHandle | null> {
  const { provider, credential } = accessOf(deps, submission.provider);
  const used = credential(submission.credential);
  if (used === undefined) throw stepBroken('unknown_credential');
  const options = { credential: used, timeoutMs: generation.plan.timings.observeHttpTimeoutMs };
  const found = await provider.find?.(submission.idempotencyKey, options);
  if (found?.kind === 'found') return found.handle;
  const named = [...new Set(hints.flatMap(({ jobId }) => (jobId === null ? [] : [jobId])))];
  for (const jobId of named.slice(0, 2)) {
    const handle = provider.handleFromJobId(jobId);
    const observation = await provider.observe(handle, options);
    if (observation.kind !== 'not_found' && observation.kind !== 'unavailable') return handle;
  }
  return null;
}

/** An acceptance that came after the end: the provider is asked once to cancel, what it costs is booked. */
export async function cancelLateJob(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  submissionId: string,
  handle: ProviderHandle,
): Promise<void> {
  const { timings } = loaded.generation.plan;
  const provider = loaded.submission?.provider ?? loaded.generation.plan.routes[0]?.provider ?? '';
  const access = accessOf(deps, provider);
  const credential =
    access.credential(loaded.submission?.credential ?? access.current.name) ?? access.current;
  const answer = await access.provider.cancel(handle, {
    credential,
    timeoutMs: timings.observeHttpTimeoutMs,
  });
  const observation = answer.kind === 'answered' ? answer.observation : null;
  await recordObservation(deps.db, {
    submissionId,
    by: 'submit',
    kind: observation?.kind ?? 'unavailable',
    status: observation !== null && 'status' in observation ? observation.status : null,
    progress: null,
    problem: answer.kind === 'answered' ? null : 'late_cancel_failed',
    outputCount: null,
    storeForMs: 0,
    linkInMs: null,
    storeLeaseMs: 0,
    dueInMs: 0,
    cost: observation !== null && 'cost' in observation ? observation.cost : null,
    cancelSent: answer.kind === 'answered',
    cancelOutcome: null,
    ended: false,
  });
}
