import { setTimeout as sleep } from 'node:timers/promises';
import { claimSubmission, isDatabaseUnavailable, recordSubmission } from '../db/index.ts';
import type {
  ClaimedSubmission,
  LoadedGeneration,
  RecordedSubmission,
  SubmissionRecord,
} from '../db/index.ts';
import { backoffMs } from '../domain/backoff.ts';
import { callbackPlaceholder } from '../domain/callback-urls.ts';
import type { ProviderCredential, SubmitAnswer, SubmitRequest } from '../domain/provider.ts';
import type { Step } from '../domain/step.ts';
import { providerIdempotencyKey, submissionId } from '../domain/submission-id.ts';
import type { ActivityDeps, ProviderAccess } from './deps.ts';
import { stepBroken } from './failures.ts';
import { cancelLateJob } from './find-unknown.ts';
import { accessOf, againStep, settleStep, viewOf } from './steps.ts';
import { firstPollMs } from './waiting.ts';

type Claim = Extract<ClaimedSubmission, { outcome: 'send' }>;

/** Claims the right to send, sends once, records what the answer proved; the answer decides the next step. */
export async function sendSubmission(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  routeIndex: number,
): Promise<Step> {
  const { generation, submission } = loaded;
  const { timings, expectedDurationSeconds, routes } = generation.plan;
  const route = routes[routeIndex];
  if (route === undefined) throw stepBroken('unreadable_plan');
  const live = submission !== null && submission.state !== 'refused' && submission.state !== 'abandoned';
  const access = accessOf(deps, route.provider);
  const { capabilities } = access.provider;
  const ordinal = live ? submission.ordinal : (submission?.ordinal ?? 0) + 1;
  const id = submissionId(generation.id, ordinal);
  const callback = route.callbacks && capabilities.callbacks !== 'none' ? deps.callbacks.current() : null;
  const credential = credentialOf(loaded, access);
  const leaseStartedMs = performance.now();
  const claim = await claimSubmission(deps.db, {
    generationId: generation.id,
    ordinal,
    routeIndex,
    submissionId: id,
    provider: route.provider,
    credential: credential.name,
    idempotencyKey: providerIdempotencyKey(id),
    request: access.provider.buildSubmit({
      providerModel: route.providerModel,
      input: generation.input,
      callbackUrl: callback === null ? null : callbackPlaceholder(id),
    }),
    callbackBase: callback?.base ?? null,
    callbackKeyId: callback?.keyId ?? null,
    leaseMs: timings.submitLeaseMs,
    minimumRunwayMs: expectedDurationSeconds * 1_000,
    replay: capabilities.idempotency === 'replay',
    replayWindowMs: timings.replayWindowMs,
  });
  switch (claim.outcome) {
    case 'send':
      return sendOnce(deps, loaded, { claim, access, credential, id, leaseStartedMs });
    case 'leased':
      return againStep(deps, loaded, 'another_attempt_is_sending', Math.max(claim.inMs, 0) + 100);
    case 'unknown':
      return againStep(
        deps,
        loaded,
        'submission_unknown',
        unknownWaitMs(loaded, capabilities.idempotency === 'lookup'),
      );
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

/** Where nothing can be found by asking, only a callback, an operator or the deadline ends the wait. */
function unknownWaitMs({ generation }: LoadedGeneration, lookup: boolean): number | undefined {
  return lookup ? undefined : Math.max(generation.deadlineInMs, 0) + 50;
}

interface Sending {
  readonly claim: Claim;
  readonly access: ProviderAccess;
  readonly credential: ProviderCredential;
  readonly id: string;
  readonly leaseStartedMs: number;
}

async function sendOnce(deps: ActivityDeps, loaded: LoadedGeneration, sending: Sending): Promise<Step> {
  const { claim, access, credential, id, leaseStartedMs } = sending;
  const { timings } = loaded.generation.plan;
  const leftMs = timings.submitLeaseMs - (performance.now() - leaseStartedMs);
  const request = realRequest(deps, sending);
  const answer: SubmitAnswer =
    leftMs < timings.submitHttpTimeoutMs
      ? { kind: 'not_sent', reason: 'lease_too_short' }
      : await access.provider.submit(request, claim.idempotencyKey, {
          credential,
          timeoutMs: timings.submitHttpTimeoutMs,
        });
  const retryInMs = retryDelayMs(deps, loaded, answer, claim.fence);
  const record = toRecord(loaded, id, claim, answer, retryInMs);
  const untilMs = leaseStartedMs + timings.submitLeaseMs;
  const recorded = await recordPatiently(deps, record, untilMs);
  deps.log.info(
    {
      generation: loaded.generation.id,
      submission: id,
      answer: answer.kind,
      recorded: recorded?.outcome ?? 'not_recorded',
    },
    'submit answered',
  );
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
  return afterRecord(deps, loaded, {
    answer,
    recorded,
    id,
    retryInMs,
    callbacks: claim.callbackBase !== null,
  });
}

async function afterRecord(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  done: {
    answer: SubmitAnswer;
    recorded: RecordedSubmission;
    id: string;
    retryInMs: number;
    callbacks: boolean;
  },
): Promise<Step> {
  const { answer, recorded, id, retryInMs, callbacks } = done;
  if (answer.kind !== 'accepted') {
    const reason = recorded.state === 'unknown' ? 'submission_unknown' : answer.kind;
    return againStep(deps, loaded, reason, recorded.state === 'refused' ? 0 : retryInMs);
  }
  if (recorded.outcome === 'job_taken') throw stepBroken('job_taken');
  if (recorded.outcome === 'attached_late' || recorded.outcome === 'orphan') {
    deps.log.warn(
      { generation: loaded.generation.id, submission: id, outcome: recorded.outcome },
      'a job nobody waits for',
    );
    if (recorded.outcome === 'attached_late') await cancelLateJob(deps, loaded, id, answer.handle);
    return againStep(deps, loaded, 'row_moved_on', 0);
  }
  return {
    step: 'wait',
    inMs:
      recorded.cancelRequested || recorded.terminalHint ? 0 : firstPollMs(loaded.generation.plan, callbacks),
    deadlineInMs: loaded.generation.deadlineInMs,
    view: viewOf(loaded, { state: 'running', stage: 'waiting', jobId: answer.handle.jobId, problem: null }),
  };
}

function credentialOf({ submission }: LoadedGeneration, access: ProviderAccess): ProviderCredential {
  const live = submission !== null && submission.state !== 'refused' && submission.state !== 'abandoned';
  if (!live) return access.current;
  const credential = access.credential(submission.credential);
  if (credential === undefined) throw stepBroken('unknown_credential');
  return credential;
}

/** The frozen bytes with the real callback URL in its place: equal at every send, since the URL is derived. */
function realRequest(deps: ActivityDeps, { claim, access, id }: Sending): SubmitRequest {
  const { request, callbackBase, callbackKeyId } = claim;
  if (callbackBase === null || callbackKeyId === null) return request;
  const url = deps.callbacks.url({
    base: callbackBase,
    keyId: callbackKeyId,
    provider: access.provider.name,
    submissionId: id,
  });
  return { ...request, body: request.body.replaceAll(callbackPlaceholder(id), url) };
}

function retryDelayMs(
  deps: ActivityDeps,
  loaded: LoadedGeneration,
  answer: SubmitAnswer,
  fence: number,
): number {
  const { timings } = loaded.generation.plan;
  // Each try adds events to the history, so the pauses grow whatever the provider asks for.
  const grown = backoffMs(
    fence - 1,
    { initialMs: timings.capacityRetryMs, factor: 1.5, maxMs: 60_000 },
    deps.random(),
  );
  if (answer.kind === 'capacity') return Math.max(answer.retryAfterMs ?? 0, grown);
  if (answer.kind === 'refused' || answer.kind === 'accepted') return 0;
  return backoffMs(fence - 1, { initialMs: 1_000, factor: 2, maxMs: 60_000 }, deps.random());
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
  untilMs: number,
): Promise<RecordedSubmission | null> {
  for (;;) {
    try {
      return await recordSubmission(deps.db, record);
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if (performance.now() + 500 > untilMs) return null;
      await sleep(500);
    }
  }
}
