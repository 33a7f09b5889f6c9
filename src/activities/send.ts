import { claimSubmission, findGenerationInputs, findOpenRoute } from '../db/index.ts';
import type { ClaimedSubmission, LoadedGeneration } from '../db/index.ts';
import { callbackPlaceholder } from '../domain/callback-urls.ts';
import { namesFiles } from '../domain/input-fields.ts';
import type { ProviderCredential } from '../domain/provider.ts';
import type { Step } from '../domain/step.ts';
import { providerIdempotencyKey, submissionId } from '../domain/submission-id.ts';
import type { ActivityDeps, ProviderAccess } from './deps.ts';
import { stepBroken } from './failures.ts';
import { inputForProvider } from './provider-inputs.ts';
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
  const { timings, expectedDurationSeconds, routes, method } = generation.plan;
  const route = routes[routeIndex];
  if (route === undefined) throw stepBroken('unreadable_plan');
  const access = accessOf(deps, route.provider);
  const { capabilities } = access.provider;
  const sameRoute = isLive(submission) && submission.routeIndex === routeIndex;
  const ordinal = sameRoute ? submission.ordinal : (submission?.ordinal ?? 0) + 1;
  const id = submissionId(generation.id, ordinal);
  const idempotencyKey = providerIdempotencyKey(id);
  const callback = route.callbacks && capabilities.callbacks !== 'none' ? deps.callbacks.current() : null;
  const credential = sameRoute ? usedCredential(access, submission.credential) : access.current;
  const inputs = namesFiles(generation.input) ? await findGenerationInputs(deps.db, generation.id) : [];
  const leaseStartedMs = performance.now();
  const claim = await claimSubmission(deps.db, {
    generationId: generation.id,
    ordinal,
    routeIndex,
    submissionId: id,
    provider: route.provider,
    credential: credential.name,
    idempotencyKey,
    request: access.provider.buildSubmit({
      method,
      providerModel: route.providerModel,
      input: inputForProvider(deps, generation, inputs, id),
      params: route.params,
      callbackUrl: callback === null ? null : callbackPlaceholder(id),
      idempotencyKey,
    }),
    callbackBase: callback?.base ?? null,
    callbackKeyId: callback?.keyId ?? null,
    leaseMs: timings.submitLeaseMs,
    minimumRunwayMs: expectedDurationSeconds * 1_000,
    replay: capabilities.idempotency === 'replay' || resend,
    replayWindowMs: resend ? FOR_EVER_MS : timings.replayWindowMs,
    estimatedCost: route.estimatedCost,
  });
  switch (claim.outcome) {
    case 'send':
      return sendOnce(deps, loaded, { claim, access, credential, id, routeIndex, inputs, leaseStartedMs });
    case 'provider_closed':
      return closedStep(deps, loaded, routeIndex, claim);
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

/**
 * No new submit at this provider now (its circuit is open, its budget of the day is spent): a later route that is open
 * takes it, else the generation stays queued until one opens, its time ends or it is cancelled.
 */
async function closedStep(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  routeIndex: number,
  closed: Extract<ClaimedSubmission, { outcome: 'provider_closed' }>,
): Promise<Step> {
  const { generation } = loaded;
  const { routes, expectedDurationSeconds } = generation.plan;
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
  const runwayMs = generation.deadlineInMs - expectedDurationSeconds * 1_000;
  const opensInMs = Math.min(closed.inMs, open.inMs ?? Number.POSITIVE_INFINITY);
  return againStep(deps, loaded, closed.reason, Math.max(Math.min(opensInMs, runwayMs), 0) + 50);
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
 * Where something can be found by asking, it is asked ever more rarely; else only a callback, an operator or the
 * deadline ends the wait.
 */
function unknownWaitMs({ generation, submission }: LoadedGeneration, { provider }: ProviderAccess): number {
  const untilDeadlineMs = Math.max(generation.deadlineInMs, 0) + 50;
  const { idempotency, list } = provider.capabilities;
  if (idempotency !== 'lookup' && !list) return untilDeadlineMs;
  const grownMs = Math.min(Math.max((submission?.sinceFirstSentMs ?? 0) / 2, 1_000), 60_000);
  return Math.min(grownMs, untilDeadlineMs);
}
