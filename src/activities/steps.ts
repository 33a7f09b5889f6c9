import type { LoadedGeneration } from '../db/index.ts';
import { backoffMs } from '../domain/backoff.ts';
import { isTerminal } from '../domain/generation.ts';
import type { RunView, SettleProposal, Step, SubmitStep } from '../domain/step.ts';
import type { ActivityDeps, ProviderAccess } from './deps.ts';
import { stepBroken } from './failures.ts';
import { firstPollInMs } from './waiting.ts';

/** What operators see in the UI of the row as it was loaded. */
export function viewOf({ generation, submission }: LoadedGeneration, change: Partial<RunView> = {}): RunView {
  return {
    state: generation.state,
    stage: generation.stage,
    provider: submission?.provider ?? generation.plan.routes[0]?.provider ?? '',
    jobId: submission?.jobId ?? null,
    credits: generation.credits,
    deadlineInMs: generation.deadlineInMs,
    problem: submission?.problem ?? null,
    submissionId: submission?.id ?? null,
    callbacks: submission?.callbacks ?? false,
    cancelRequested: generation.cancelRequested,
    succeeded: generation.succeeded,
    ...change,
  };
}

/** The end of the run when the row has ended or is gone, else null. */
export function ended(loaded: LoadedGeneration | null): Step | null {
  if (loaded === null) return { step: 'done', state: 'gone' };
  const { state } = loaded.generation;
  return isTerminal(state) ? { step: 'done', state } : null;
}

/** Propose an end; the rows decide whether it fits. */
export function settleStep(
  loaded: LoadedGeneration,
  proposal: SettleProposal,
  change: Partial<RunView> = {},
): Step {
  return { step: 'settle', proposal, view: viewOf(loaded, { ...change, stage: 'settling' }) };
}

/** Wait for what the provider does; also the way back into collecting when a success is stored already. */
export function waitStep(loaded: LoadedGeneration): Step {
  const { generation } = loaded;
  return {
    step: 'wait',
    inMs: generation.succeeded ? 0 : firstPollInMs(loaded),
    deadlineInMs: generation.deadlineInMs,
    view: viewOf(loaded),
  };
}

/** Try again later; an unknown submission waits longer with each try, up to a minute. */
export function againStep(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  reason: string,
  inMs?: number,
  change: Partial<RunView> = {},
): SubmitStep {
  const tries = loaded.submission?.fence ?? 0;
  const wait = inMs ?? backoffMs(tries, { initialMs: 1_000, factor: 2, maxMs: 60_000 }, deps.random());
  const limit = Math.max(loaded.generation.deadlineInMs, 0) + 50;
  const view = viewOf(loaded, { problem: reason, ...change });
  const unknown = reason === 'submission_unknown' ? unknownView(deps, view.provider) : {};
  return { step: 'submit', inMs: Math.min(wait, limit), reason, view: { ...view, ...unknown } };
}

/** The row was read before its answer made it unknown. */
function unknownView(deps: ActivityDeps, provider: string): Partial<RunView> {
  const capabilities = deps.providers.get(provider)?.provider.capabilities;
  return {
    state: 'running',
    stage: 'submission_unknown',
    ...(capabilities && { idempotency: capabilities.idempotency, listed: capabilities.list }),
  };
}

/** The provider of a name with its credentials; unknown ones need a person, the hold stays. */
export function accessOf(deps: ActivityDeps, provider: string): ProviderAccess {
  const access = deps.providers.get(provider);
  if (access === undefined) throw stepBroken('unknown_provider');
  return access;
}
