import { CancelledFailure } from '@temporalio/common';
import { loadGeneration, observationFields, recordObservation, requestCancel } from '../db/index.ts';
import { cancelOutcome, judge, mustAskCancel, nextPollMs } from '../domain/judge.ts';
import type { JobFacts } from '../domain/judge.ts';
import type { CancellationOutcome } from '../domain/generation.ts';
import type { Observation, ProviderCapabilities } from '../domain/provider.ts';
import type { Step } from '../domain/step.ts';
import { countObservation } from '../metrics/job-metrics.ts';
import { noteStep } from '../tracing/index.ts';
import type { ActivityDeps } from './deps.ts';
import { pollAgain } from './failures.ts';
import { callsOf } from './job.ts';
import type { AttemptContext, Job } from './job.ts';
import { againStep, ended, settleStep } from './steps.ts';
import { storeAfterSuccess, storeOutputs } from './store.ts';

export interface CollectInput {
  readonly generationId: string;
  /** Cancel was pressed in the Temporal UI. */
  readonly cancelPressed: boolean;
}

/** By when the run must next have written, while it looks; the sweep comes 5 s later. */
const WINDOW_MS = 10_000;

/**
 * Observes the job and, when it has finished, stores its outputs in the same attempt. It is the poll (by retry), the
 * answer to a callback, the refresh of a dead link and the one that asks the provider to cancel.
 */
export async function collect(
  deps: ActivityDeps,
  input: CollectInput,
  context: AttemptContext,
): Promise<Step> {
  const { generationId } = input;
  if (input.cancelPressed) await requestCancel(deps.db, { generationId, tenantId: null, actor: 'operator' });
  const loaded = await loadGeneration(deps.db, { generationId, dueInMs: WINDOW_MS });
  const end = ended(loaded);
  if (end !== null || loaded === null) return end ?? { step: 'done', state: 'gone' };
  const { submission, generation } = loaded;
  if (submission?.state !== 'accepted' || submission.handle === null)
    return againStep(deps, loaded, 'row_moved_on', 0);
  noteStep({ submission: submission.id, provider: submission.provider });
  const job = { loaded, submission, handle: submission.handle };
  if (generation.succeeded) return storeAfterSuccess(deps, job, context);

  const restMs =
    generation.plan.timings.observeSpacingMs - (submission.sinceObservedMs ?? Number.POSITIVE_INFINITY);
  const hinted = loaded.hints.some(({ terminal }) => terminal);
  if (restMs > 0 && !hinted) throw pollAgain(restMs, 'observed a moment ago');
  return observeOnce(deps, job, context);
}

async function observeOnce(deps: ActivityDeps, job: Job, context: AttemptContext): Promise<Step> {
  const { loaded, submission, handle } = job;
  const { provider, options } = callsOf(deps, job);
  const { timings } = loaded.generation.plan;
  const startedMs = performance.now();
  let observation = await deps.observe(provider, handle, options);
  countObservation(provider.name, observation);
  noteStep({ observed: observation.kind });
  if (context.signal.aborted) throw new CancelledFailure('cancelled');
  const { cancel: offered } = provider.capabilities;
  let facts = factsOf(job, offered, performance.now() - startedMs);
  let cancel: { sent: boolean; outcome: CancellationOutcome | null } = { sent: false, outcome: null };
  if (mustAskCancel(observation, facts)) {
    const asked = await askCancel(deps, job, observation);
    observation = asked.observation;
    cancel = asked;
    facts = {
      ...factsOf(job, offered, performance.now() - startedMs),
      ...sentNow(facts, cancel, offered),
    };
  }
  if (observation.kind === 'running' && observation.unknownStatus) {
    deps.log.warn(
      {
        generation: loaded.generation.id,
        provider: submission.provider,
        provider_status: observation.status,
      },
      'unknown provider status',
    );
  }
  const verdict = judge(observation, facts);
  const poll = {
    ...facts,
    callbacks: submission.callbacks,
    terminalHint: submission.terminalHint,
    spacingMs: deps.pollBudget.spacingMs(submission.provider, timings.pollBudgetPerSecond),
  };
  const pollInMs = nextPollMs(observation, poll, context.attempt - 1, deps.random());
  const dueInMs = {
    pending: pollInMs,
    settle: WINDOW_MS,
    park: WINDOW_MS,
    // As the lease that it takes, whose first renewal may come after the window.
    store: Math.max(WINDOW_MS, timings.storeLeaseMs),
  };
  const leasedAtMs = performance.now();
  const recorded = await recordObservation(deps.db, {
    ...observationFields(observation),
    submissionId: submission.id,
    by: submission.terminalHint ? 'callback' : 'poll',
    storeForMs: timings.storeForMs,
    storeLeaseMs: timings.storeLeaseMs,
    dueInMs: dueInMs[verdict.kind],
    cancelSent: cancel.sent,
    cancelOutcome: cancel.outcome ?? stopped(observation, facts, provider.capabilities.cancel),
    ended:
      observation.kind === 'not_found' && verdict.kind === 'settle' && verdict.proposal.state === 'cancelled',
  });
  if (recorded.terminal) return againStep(deps, loaded, 'row_moved_on', 0);
  switch (verdict.kind) {
    case 'pending':
      throw pollAgain(
        recorded.cancelRequested && !facts.cancelRequested ? 50 : pollInMs,
        `still ${observation.kind}`,
      );
    case 'settle':
      return settleStep(loaded, verdict.proposal);
    case 'park':
      return { step: 'park', reason: verdict.reason };
    case 'store':
      return storeOutputs(deps, job, observation, { attempts: recorded.attempts, leasedAtMs }, context);
  }
}

/** A job found stopped after our call, whichever attempt has made it. */
function stopped(
  observation: Observation,
  facts: JobFacts,
  cancel: ProviderCapabilities['cancel'],
): CancellationOutcome | null {
  return observation.kind === 'cancelled' && facts.cancelRequested ? cancelOutcome(cancel) : null;
}

/** The facts after our cancel call in this very look. */
function sentNow(
  before: JobFacts,
  { sent, outcome }: { readonly sent: boolean; readonly outcome: CancellationOutcome | null },
  offered: ProviderCapabilities['cancel'],
) {
  return {
    cancelSent: before.cancelSent || sent,
    cancelTaken: before.cancelTaken || (sent && offered !== 'unsupported' && outcome !== 'unsupported'),
  };
}

function factsOf(
  { loaded, submission }: Job,
  offered: ProviderCapabilities['cancel'],
  elapsedMs: number,
): JobFacts {
  const { generation } = loaded;
  return {
    cancelRequested: generation.cancelRequested,
    cancelSent: submission.cancelSent,
    // A provider that can cancel may still have declined this job (MiniMax, once it runs): then it was not taken.
    cancelTaken:
      submission.cancelSent && offered !== 'unsupported' && generation.cancelOutcome !== 'unsupported',
    sinceAcceptedMs: (submission.sinceAcceptedMs ?? 0) + elapsedMs,
    deadlineInMs: generation.deadlineInMs - elapsedMs,
    timings: generation.plan.timings,
  };
}

async function askCancel(
  deps: ActivityDeps,
  job: Job,
  before: Observation,
): Promise<{ observation: Observation; sent: boolean; outcome: CancellationOutcome | null }> {
  const { provider, options } = callsOf(deps, job);
  const { cancel } = provider.capabilities;
  const answer =
    cancel === 'unsupported'
      ? ({ kind: 'unsupported' } as const)
      : await provider.cancel(job.handle, options);
  if (answer.kind === 'unsupported') return { observation: before, sent: true, outcome: 'unsupported' };
  if (answer.kind === 'unavailable') return { observation: before, sent: false, outcome: null };
  const { observation } = answer;
  if (observation.kind === 'unavailable') return { observation: before, sent: false, outcome: null };
  const outcome =
    observation.kind === 'cancelled' || observation.kind === 'not_found' ? cancelOutcome(cancel) : null;
  return { observation, sent: true, outcome };
}
