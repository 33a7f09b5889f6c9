import { isDatabaseUnavailable, recordLateLook, recordSubmission } from '../db/index.ts';
import type { AttachableSubmission } from '../db/find-submission.ts';
import type { LoadedGeneration, RecordedSubmission } from '../db/index.ts';
import { safeError } from '../domain/safe-error.ts';
import { cancelLateJob, sayLateSuccess } from './cancel-late-job.ts';
import type { ActivityDeps } from './deps.ts';
import { stepBroken } from './failures.ts';
import { accessOf } from './steps.ts';

const WINDOW_MS = 20_000;
const MOST_NAMED = 2;

/** A submission, whether or not it is the last of its generation. */
interface Attachable {
  readonly generation: LoadedGeneration['generation'];
  readonly submission: AttachableSubmission;
}

function jobAt(deps: ActivityDeps, { generation, submission }: Attachable, jobId: string) {
  const { provider, credential: credentialOf } = accessOf(deps, submission.provider);
  const credential = credentialOf(submission.credential);
  if (credential === undefined) throw stepBroken('unknown_credential');
  const handle = provider.handleFromJobId(jobId, submission.request);
  const timeoutMs = generation.plan.timings.observeHttpTimeoutMs;
  return { submissionId: submission.id, handle, provider, credential, timeoutMs };
}

/**
 * Attaches a job that is known by its id to this submission; where nobody waits for it, the provider is asked to cancel it.
 * @param hasEnded - as the provider has just said, so that there is nothing to cancel
 */
export async function attachJob(
  deps: ActivityDeps,
  attachable: Attachable,
  jobId: string,
  hasEnded = false,
): Promise<RecordedSubmission['outcome']> {
  const job = jobAt(deps, attachable, jobId);
  const { submissionId, handle } = job;
  const record = await recordSubmission(deps.db, {
    submissionId,
    kind: 'accepted',
    jobId,
    handle,
    providerStatus: null,
    dueInMs: WINDOW_MS,
  });
  if (record.outcome === 'attached_late' && !hasEnded) await cancelLateJob(deps, job);
  return record.outcome;
}

/**
 * The job that a verified callback named when its generation had ended with the submission unknown: attached, so that it
 * is cancelled once if it still renders, observed to its end and its cost booked. Nothing changes for the tenant.
 */
export async function attachLateJob(deps: ActivityDeps, loaded: LoadedGeneration): Promise<void> {
  try {
    await attachNamedJob(deps, loaded);
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    // The generation has ended: a step that breaks here must not keep its run alive.
    deps.log.warn(
      { generation: loaded.generation.id, error: safeError(error) },
      'a job named after the end could not be attached',
    );
  }
}

async function attachNamedJob(
  deps: ActivityDeps,
  { generation, submission, hints }: LoadedGeneration,
): Promise<void> {
  if (submission === null || submission.jobId !== null) return;
  const attachable = { generation, submission };
  const named = [...new Set(hints.flatMap(({ jobId }) => (jobId === null ? [] : [jobId])))];
  for (const jobId of named.slice(0, MOST_NAMED)) {
    const { provider, handle, credential, timeoutMs } = jobAt(deps, attachable, jobId);
    const observation = await provider.observe(handle, { credential, timeoutMs });
    const { kind } = observation;
    // The loop of late observations asks again.
    if (kind === 'not_found' || kind === 'unavailable') continue;
    const outcome = await attachJob(deps, attachable, jobId, kind !== 'running');
    // What is seen of a job says nothing of a submission that has not got it.
    if (kind === 'running' || (outcome !== 'attached' && outcome !== 'attached_late')) return;
    // It has ended: nobody has to look at it again.
    if (await recordLateLook(deps.db, submission.id, observation)) sayLateSuccess(deps, submission.id);
    return;
  }
}
