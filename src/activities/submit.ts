import { loadGeneration, recordSubmission, requestCancel } from '../db/index.ts';
import type { LoadedGeneration } from '../db/index.ts';
import type { SettleProposal, Step } from '../domain/step.ts';
import type { ActivityDeps } from './deps.ts';
import { cancelLateJob, findUnknownJob } from './find-unknown.ts';
import { sendSubmission } from './send.ts';
import { accessOf, againStep, ended, settleStep, waitStep } from './steps.ts';

export interface SubmitInput {
  readonly generationId: string;
  /** Cancel was pressed in the Temporal UI. */
  readonly cancelPressed: boolean;
  /** A job accepted while the database was away. */
  readonly attach: { readonly submissionId: string; readonly jobId: string } | null;
}

const WINDOW_MS = 20_000;

/**
 * Brings a provider to take the job, once; and since it reads the row first, also the way by which a run goes on at
 * any stage. Never cut by a cancel or a shutdown; what it may not repeat is fenced in SQL.
 */
export function submit(deps: ActivityDeps, input: SubmitInput): Promise<Step> {
  return proceed(deps, input, sendSubmission);
}

/**
 * The same without sending, on the run's own queue: how a run that was woken or that lost a step finds its place. It
 * waits behind no rate limit, and sees that no worker knows the provider.
 */
export function look(deps: ActivityDeps, input: SubmitInput): Promise<Step> {
  return proceed(deps, input, (_deps, loaded, routeIndex) =>
    Promise.resolve(beforeSend(deps, loaded, routeIndex)),
  );
}

function beforeSend(deps: ActivityDeps, loaded: LoadedGeneration, routeIndex: number): Step {
  const { generation, submission } = loaded;
  accessOf(deps, generation.plan.routes[routeIndex]?.provider ?? '');
  const unsent = submission?.state !== 'sending' && submission?.state !== 'unknown';
  return unsent && generation.deadlineInMs <= 0
    ? settleStep(loaded, { state: 'failed', errorCode: 'provider_unavailable' })
    : againStep(deps, loaded, 'row_moved_on', 0);
}

async function proceed(deps: ActivityDeps, input: SubmitInput, send: typeof sendSubmission): Promise<Step> {
  const { db } = deps;
  const { generationId } = input;
  if (input.cancelPressed) await requestCancel(db, { generationId, tenantId: null, actor: 'operator' });
  if (input.attach !== null) await attachJob(deps, generationId, input.attach);
  const loaded = await loadGeneration(db, { generationId, dueInMs: WINDOW_MS, resume: true });
  const end = ended(loaded);
  if (end !== null || loaded === null) return end ?? { step: 'done', state: 'gone' };
  const { generation, submission } = loaded;
  if (generation.succeeded || submission?.state === 'accepted') return waitStep(loaded);

  if (
    submission?.state === 'unknown' ||
    (submission?.state === 'sending' && (submission.leaseInMs ?? 0) <= 0)
  ) {
    const found = await findUnknownJob(deps, loaded);
    if (found !== null) return found;
  }
  const route = nextRoute(loaded);
  if (route === null) {
    return settleStep(loaded, { state: 'failed', errorCode: failedCode(loaded) });
  }
  return send(deps, loaded, route);
}

/** Which place of the plan's route list is submitted to; null when all have refused for good. */
function nextRoute({ generation, submission }: LoadedGeneration): number | null {
  if (submission === null) return 0;
  if (submission.state !== 'refused' && submission.state !== 'abandoned') return submission.routeIndex;
  const next = submission.routeIndex + 1;
  return next < generation.plan.routes.length ? next : null;
}

function failedCode({
  submission,
}: LoadedGeneration): 'provider_rejected' | NonNullable<SettleProposal['errorCode']> {
  return submission?.refusalCode ?? 'provider_unavailable';
}

async function attachJob(
  deps: ActivityDeps,
  generationId: string,
  attach: NonNullable<SubmitInput['attach']>,
): Promise<void> {
  const loaded = await loadGeneration(deps.db, { generationId, dueInMs: WINDOW_MS });
  if (loaded?.submission?.id !== attach.submissionId) return;
  const { provider } = accessOf(deps, loaded.submission.provider);
  const handle = provider.handleFromJobId(attach.jobId);
  const record = await recordSubmission(deps.db, {
    submissionId: attach.submissionId,
    kind: 'accepted',
    jobId: attach.jobId,
    handle,
    providerStatus: null,
    dueInMs: WINDOW_MS,
  });
  if (record.outcome === 'attached_late') await cancelLateJob(deps, loaded, attach.submissionId, handle);
}
