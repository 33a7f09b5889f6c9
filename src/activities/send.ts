import { claimSubmission, findGenerationInputs, findOpenRoute } from '../db/index.ts';
import type { ClaimedSubmission, LoadedGeneration } from '../db/index.ts';
import { namesFiles } from '../domain/input-fields.ts';
import type { ProviderCredential } from '../domain/provider.ts';
import type { RunView, Step } from '../domain/step.ts';
import { freezeSubmit } from '../providers/frozen-submit.ts';
import type { ActivityDeps, ProviderAccess } from './deps.ts';
import { stepBroken } from './failures.ts';
import { sendOnce } from './send-once.ts';
import { accessOf, againStep, settleStep } from './steps.ts';

/** The same external id finds the same job for ever. */
const FOR_EVER_MS = 10 * 365 * 86_400_000;

/**
 * Claims the right to send at one place of the route list, sends once, records what the answer proved; the answer
 * decides the next step. `resend`: the provider was just asked for our external id and knows no such job.
 */
export async function sendSubmission(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  routeIndex: number,
  resend: boolean,
): Promise<Step> {
  const { generation, submission } = loaded;
  const { timings, expectedDurationSeconds, routes } = generation.plan;
  const route = routes[routeIndex];
  if (route === undefined) throw stepBroken('unreadable_plan');
  const access = accessOf(deps, route.provider);
  const { capabilities } = access.provider;
  const sameRoute = isLive(submission) && submission.routeIndex === routeIndex;
  const ordinal = sameRoute ? submission.ordinal : (submission?.ordinal ?? 0) + 1;
  const credential = sameRoute ? usedCredential(access, submission.credential) : access.current;
  const inputs = namesFiles(generation.input) ? await findGenerationInputs(deps.db, generation.id) : [];
  const tools = { provider: access.provider, credential, callbacks: deps.callbacks, links: deps.links };
  const frozen = freezeSubmit(tools, { generation, route, ordinal, inputs });
  const { submissionId: id } = frozen;
  const leaseStartedMs = performance.now();
  const claim = await claimSubmission(deps.db, {
    generationId: generation.id,
    ...frozen,
    routeIndex,
    leaseMs: timings.submitLeaseMs,
    minimumRunwayMs: expectedDurationSeconds * 1_000,
    replay: capabilities.idempotency === 'replay' || resend,
    replayWindowMs: resend ? FOR_EVER_MS : timings.replayWindowMs,
    // Of several who asked the provider in vain, one sends.
    ...(resend && submission !== null && { afterFence: submission.fence }),
  });
  switch (claim.outcome) {
    case 'send':
      return ofTry(
        await sendOnce(deps, loaded, { claim, access, credential, id, routeIndex, inputs, leaseStartedMs }),
        { provider: route.provider, submissionId: id },
      );
    case 'provider_closed':
      return closedStep(deps, loaded, routeIndex, claim);
    case 'paused':
      return pausedStep(deps, loaded, claim);
    case 'leased':
      return againStep(deps, loaded, 'another_attempt_is_sending', Math.max(claim.inMs, 0) + 100);
    case 'unknown':
      return againStep(deps, loaded, 'submission_unknown', unknownWaitMs(loaded, access));
    case 'cancel_requested':
      return settleStep(loaded, { state: 'cancelled', errorCode: null });
    case 'no_time':
      return settleStep(loaded, { state: 'failed', errorCode: 'provider_unavailable' });
    case 'terminal':
    case 'accepted':
    case 'stale':
      return againStep(deps, loaded, 'row_moved_on', 0);
  }
}

/** No new submit anywhere for this model or tenant: it stays queued until that is resumed, its time ends or it is cancelled. */
function pausedStep(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  { reason, inMs }: Extract<ClaimedSubmission, { outcome: 'paused' }>,
): Step {
  deps.log.info({ generation: loaded.generation.id, reason }, 'waits for a person to resume it');
  return queuedStep(deps, loaded, reason, inMs);
}

/**
 * No new submit at this provider now (a person has paused it, its circuit is open, its budget of the day is spent): a later route that is open
 * takes it, else the generation stays queued until one opens, its time ends or it is cancelled.
 */
async function closedStep(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  routeIndex: number,
  closed: Extract<ClaimedSubmission, { outcome: 'provider_closed' }>,
): Promise<Step> {
  const { generation } = loaded;
  const { routes } = generation.plan;
  const provider = routes[routeIndex]?.provider ?? '';
  if (closed.alert) deps.log.error({ provider, reason: closed.reason }, 'new submits are stopped');
  const open = await findOpenRoute(deps.db, routes.slice(routeIndex + 1));
  const next = open.index === null ? undefined : routes[routeIndex + 1 + open.index];
  if (open.index !== null && next !== undefined) {
    return {
      ...againStep(deps, loaded, closed.reason, 0),
      provider: next.provider,
      fromRoute: routeIndex + 1 + open.index,
    };
  }
  if (closed.reason === 'provider_paused') {
    deps.log.info(
      { generation: generation.id, provider, reason: closed.reason },
      'waits for a person to resume it',
    );
  }
  return queuedStep(
    deps,
    loaded,
    closed.reason,
    Math.min(closed.inMs, open.inMs ?? Number.POSITIVE_INFINITY),
  );
}

/** Nothing is sent until then, nor later than when the time for it has run out. */
function queuedStep(deps: ActivityDeps, loaded: LoadedGeneration, reason: string, inMs: number): Step {
  const { deadlineInMs, plan } = loaded.generation;
  const runwayMs = deadlineInMs - plan.expectedDurationSeconds * 1_000;
  return againStep(deps, loaded, reason, Math.max(Math.min(inMs, runwayMs), 0) + 50);
}

/** History then tells which try the step is about: a database restored from a dump may have forgotten it. */
function ofTry(step: Step, sent: Pick<RunView, 'provider' | 'submissionId'>): Step {
  return 'view' in step ? { ...step, view: { ...step.view, ...sent } } : step;
}

type Submission = LoadedGeneration['submission'];

function isLive(submission: Submission): submission is NonNullable<Submission> {
  return submission !== null && submission.state !== 'refused' && submission.state !== 'abandoned';
}

function usedCredential(access: ProviderAccess, name: string): ProviderCredential {
  const credential = access.credential(name);
  if (credential === undefined) throw stepBroken('unknown_credential');
  return credential;
}

/**
 * Where something can be found by asking, also for a job that was named, it is asked ever more rarely; else only a
 * callback, an operator or the deadline ends the wait.
 */
function unknownWaitMs(
  { generation, submission, hints }: LoadedGeneration,
  { provider }: ProviderAccess,
): number {
  const untilDeadlineMs = Math.max(generation.deadlineInMs, 0) + 50;
  const { idempotency, list } = provider.capabilities;
  const named = hints.some(({ jobId }) => jobId !== null);
  if (idempotency !== 'lookup' && !list && !named) return untilDeadlineMs;
  // Not of the first send: one for capacity may lie long before the one that was lost.
  const sinceMs = submission?.sinceSentMs ?? submission?.sinceFirstSentMs ?? 0;
  const grownMs = Math.min(Math.max(sinceMs / 2, 1_000), 60_000);
  return Math.min(grownMs, untilDeadlineMs);
}
