import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseUnavailable, recordSubmission } from '../db/index.ts';
import type {
  CircuitLimits,
  ClaimedSubmission,
  GenerationInput,
  LoadedGeneration,
  RecordedSubmission,
  SubmissionRecord,
} from '../db/index.ts';
import { backoffMs } from '../domain/backoff.ts';
import { callbackPlaceholder, callbackSecretPlaceholder } from '../domain/callback-urls.ts';
import type { ProviderCredential, SubmitAnswer, SubmitRequest } from '../domain/provider.ts';
import { nextRoute } from '../domain/route.ts';
import type { Step } from '../domain/step.ts';
import { countSubmit } from '../metrics/job-metrics.ts';
import { noteStep } from '../tracing/index.ts';
import { cancelLateJob } from './cancel-late-job.ts';
import type { ActivityDeps, ProviderAccess } from './deps.ts';
import { stepBroken } from './failures.ts';
import { inlineInputs } from './provider-inputs.ts';
import { againStep, settleStep, viewOf } from './steps.ts';
import { firstPollMs } from './waiting.ts';

type Claim = Extract<ClaimedSubmission, { outcome: 'send' }>;

/** One right to send, and what it is sent with. */
interface Sending {
  readonly claim: Claim;
  readonly access: ProviderAccess;
  readonly credential: ProviderCredential;
  readonly id: string;
  readonly routeIndex: number;
  /** Stored files that it may have to hold. */
  readonly inputs: readonly GenerationInput[];
  readonly leaseStartedMs: number;
}

/** Sends the frozen bytes once, while the lease lasts, and records what the answer proved. */
export async function sendOnce(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  sending: Sending,
): Promise<Step> {
  const { claim, id, leaseStartedMs } = sending;
  const { timings } = loaded.generation.plan;
  const { answer, called } = await callProvider(deps, loaded, sending);
  countSubmit(sending.access.provider.name, answer.kind);
  const retryInMs = retryDelayMs(deps, loaded, answer, sending);
  const record = toRecord(loaded, id, claim, answer, retryInMs);
  const untilMs = leaseStartedMs + timings.submitLeaseMs;
  // What we could not send for a reason of our own says nothing of the provider's health.
  const recorded = await recordPatiently(deps, record, called ? timings : undefined, untilMs);
  noteStep({ submission: id, answer: answer.kind, recorded: recorded?.outcome ?? 'not_recorded' });
  if (recorded === null) {
    // Only the acceptance must not be lost: its job id travels through the history to the next attempt.
    if (answer.kind !== 'accepted') return againStep(deps, loaded, 'database_unavailable', 5_000);
    return {
      step: 'attach',
      submissionId: id,
      jobId: answer.handle.jobId,
      view: viewOf(loaded, { jobId: answer.handle.jobId }),
    };
  }
  return afterRecord(deps, loaded, sending, { answer, recorded, retryInMs });
}

async function callProvider(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  sending: Sending,
): Promise<{ readonly answer: SubmitAnswer; readonly called: boolean }> {
  const { claim, access, credential, id, leaseStartedMs } = sending;
  const unsent = (reason: string) => ({ answer: { kind: 'not_sent' as const, reason }, called: false });
  const { submitLeaseMs, submitHttpTimeoutMs: timeoutMs } = loaded.generation.plan.timings;
  const known = realRequest(deps, sending);
  // Nothing leaves before the key of its callback URL is back in KEYRING.
  if (known === null) return unsent('callback_key_missing');
  const inlined = await inlineInputs(deps, access.provider, known, sending.inputs, id);
  if (inlined.kind === 'unreadable') return unsent(inlined.reason);
  if (inlined.kind === 'refused') {
    const { reason } = inlined;
    const { id: generation } = loaded.generation;
    deps.log.warn(
      { generation, provider: access.provider.name, reason },
      'a provider can not be given the input',
    );
    // By us, for good: another provider may take the file inline, or need none of it.
    return { answer: { kind: 'refused', code: 'provider_rejected', reason }, called: false };
  }
  if (submitLeaseMs - (performance.now() - leaseStartedMs) < timeoutMs) {
    return unsent('lease_too_short');
  }
  const options = { credential, timeoutMs };
  return {
    answer: await access.provider.submit(inlined.request, claim.idempotencyKey, options),
    called: true,
  };
}

async function afterRecord(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  { access, credential, claim, id, routeIndex }: Sending,
  done: { answer: SubmitAnswer; recorded: RecordedSubmission; retryInMs: number },
): Promise<Step> {
  const { answer, recorded, retryInMs } = done;
  const { plan } = loaded.generation;
  const { provider } = access;
  if (recorded.circuitOpened)
    deps.log.error({ provider: provider.name }, 'circuit opened: submits fail in a row');
  if (answer.kind !== 'accepted') {
    const reason = recorded.state === 'unknown' ? 'submission_unknown' : answer.kind;
    if (recorded.state !== 'refused' || answer.kind !== 'refused') {
      const change = { provider: provider.name, submissionId: id, problem: answer.reason };
      return againStep(deps, loaded, reason, retryInMs, change);
    }
    const last = { state: 'refused', routeIndex, refusalCode: answer.code } as const;
    const next = nextRoute(last, plan.routes.length);
    // Settled from here: neither this provider's queue nor the next one's has to be waited for.
    if (next === null) return settleStep(loaded, { state: 'failed', errorCode: answer.code });
    const to = plan.routes[next]?.provider ?? provider.name;
    return { ...againStep(deps, loaded, reason, 0), provider: to };
  }
  if (recorded.outcome === 'job_taken') throw stepBroken('job_taken');
  if (recorded.outcome === 'attached_late' || recorded.outcome === 'orphan') {
    deps.log.warn(
      { generation: loaded.generation.id, submission: id, outcome: recorded.outcome },
      'a job nobody waits for',
    );
    if (recorded.outcome === 'attached_late') {
      const timeoutMs = plan.timings.observeHttpTimeoutMs;
      await cancelLateJob(deps, { submissionId: id, handle: answer.handle, provider, credential, timeoutMs });
    }
    return againStep(deps, loaded, 'row_moved_on', 0);
  }
  return {
    step: 'wait',
    inMs:
      recorded.cancelRequested || recorded.terminalHint ? 0 : firstPollMs(plan, claim.callbackBase !== null),
    deadlineInMs: loaded.generation.deadlineInMs,
    view: viewOf(loaded, {
      state: 'running',
      stage: 'waiting',
      provider: provider.name,
      jobId: answer.handle.jobId,
      problem: null,
      submissionId: id,
      callbacks: claim.callbackBase !== null,
      cancelRequested: recorded.cancelRequested,
    }),
  };
}

/**
 * The frozen bytes with the real callback URL and secret in their places: equal at every send, since both are derived.
 * Null when the key that they are derived with has left the ring.
 */
function realRequest(deps: ActivityDeps, { claim, access, id }: Sending): SubmitRequest | null {
  const { request, callbackBase: base, callbackKeyId: keyId } = claim;
  if (base === null || keyId === null) return request;
  const url = deps.callbacks.url({ base, keyId, provider: access.provider.name, submissionId: id });
  const secret = deps.callbacks.secret({ keyId, submissionId: id });
  if (url === null || secret === null) return null;
  const placeholder = callbackPlaceholder(id);
  return {
    ...request,
    path: request.path.replaceAll(encodeURIComponent(placeholder), encodeURIComponent(url)),
    body: request.body.replaceAll(placeholder, url).replaceAll(callbackSecretPlaceholder(id), secret),
  };
}

function retryDelayMs(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  answer: SubmitAnswer,
  { claim: { fence }, id }: Sending,
): number {
  const { timings } = loaded.generation.plan;
  // Each try adds events to the history, so the pauses grow whatever the provider asks for.
  const grown = backoffMs(
    fence - 1,
    { initialMs: timings.capacityRetryMs, factor: 1.5, maxMs: 60_000 },
    deps.random(),
  );
  if (answer.kind === 'capacity') return Math.max(answer.retryAfterMs ?? 0, grown);
  if (answer.kind === 'accepted') return 0;
  // A definite refusal: the run goes on at once.
  if (answer.kind === 'refused' && !mayBeUnknown(loaded, id)) return 0;
  // After a lost answer a refusal proves nothing, and the same bytes are sent again.
  return backoffMs(fence - 1, { initialMs: 1_000, factor: 2, maxMs: 60_000 }, deps.random());
}

/** Whether an answer to this submission may have been lost; the claim makes one unknown that was found sending. */
function mayBeUnknown({ submission }: LoadedGeneration, id: string): boolean {
  return submission?.id === id && (submission.everUnknown || submission.state === 'sending');
}

function toRecord(
  loaded: LoadedGeneration,
  id: string,
  claim: Claim,
  answer: SubmitAnswer,
  retryInMs: number,
): SubmissionRecord {
  const { plan } = loaded.generation;
  switch (answer.kind) {
    case 'accepted':
      return {
        submissionId: id,
        kind: 'accepted',
        jobId: answer.handle.jobId,
        handle: answer.handle,
        providerStatus: answer.status,
        cost: answer.cost ?? null,
        dueInMs: firstPollMs(plan, claim.callbackBase !== null),
      };
    case 'refused':
      return {
        submissionId: id,
        fence: claim.fence,
        kind: 'refused',
        problem: answer.reason,
        refusalCode: answer.code,
        retryInMs,
      };
    case 'capacity':
    case 'not_sent':
    case 'unknown':
      return { submissionId: id, fence: claim.fence, kind: answer.kind, problem: answer.reason, retryInMs };
  }
}

/** Records through a short absence of the database, up to the lease's end; null = it could not be recorded. */
async function recordPatiently(
  deps: ActivityDeps,
  record: SubmissionRecord,
  circuit: CircuitLimits | undefined,
  untilMs: number,
): Promise<RecordedSubmission | null> {
  for (;;) {
    try {
      return await recordSubmission(deps.db, record, circuit);
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if (performance.now() + 500 > untilMs) return null;
      await sleep(500);
    }
  }
}
