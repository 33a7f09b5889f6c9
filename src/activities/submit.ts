import { findSubmission } from '../db/find-submission.ts';
import { isDatabaseUnavailable, loadGeneration, requestCancel } from '../db/index.ts';
import type { LoadedGeneration } from '../db/index.ts';
import { nextRoute } from '../domain/route.ts';
import { safeError } from '../domain/safe-error.ts';
import type { Step } from '../domain/step.ts';
import { attachJob, attachLateJob } from './attach-job.ts';
import type { ActivityDeps } from './deps.ts';
import { stepBroken } from './failures.ts';
import { findUnknownJob } from './find-unknown.ts';
import { sendSubmission } from './send.ts';
import { accessOf, againStep, ended, settleStep, waitStep } from './steps.ts';

export interface SubmitInput {
  readonly generationId: string;
  /** Cancel was pressed in the Temporal UI. */
  readonly cancelPressed: boolean;
  /** A job accepted while the database was away. */
  readonly attach: { readonly submissionId: string; readonly jobId: string } | null;
  /** Whose queue this is on; absent where nothing is sent, and in runs that version 0.1 started. */
  readonly provider?: string;
  /** The earlier places of the route list are closed now. */
  readonly fromRoute?: number;
}

type Send = (deps: ActivityDeps, loaded: LoadedGeneration, route: number, resend: boolean) => Promise<Step>;

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
  return proceed(deps, input, (_deps, loaded, route) => Promise.resolve(beforeSend(deps, loaded, route)));
}

function beforeSend(deps: ActivityDeps, loaded: LoadedGeneration, route: number): Step {
  const { generation, submission } = loaded;
  const provider = generation.plan.routes[route]?.provider ?? '';
  accessOf(deps, provider);
  const unsent = submission?.state !== 'sending' && submission?.state !== 'unknown';
  if (unsent && generation.deadlineInMs <= 0) {
    return settleStep(loaded, { state: 'failed', errorCode: 'provider_unavailable' });
  }
  return { ...againStep(deps, loaded, 'row_moved_on', 0), provider };
}

async function proceed(deps: ActivityDeps, input: SubmitInput, send: Send): Promise<Step> {
  const { db } = deps;
  const { generationId } = input;
  if (input.cancelPressed) await requestCancel(db, { generationId, tenantId: null, actor: 'operator' });
  if (input.attach !== null) await attachFromHistory(deps, generationId, input.attach);
  const loaded = await loadGeneration(db, { generationId, dueInMs: WINDOW_MS, resume: true });
  const end = ended(loaded);
  if (loaded === null) return { step: 'done', state: 'gone' };
  if (end !== null) {
    await attachLateJob(deps, loaded);
    return end;
  }
  const { generation, submission } = loaded;
  if (generation.succeeded || submission?.state === 'accepted') return waitStep(loaded);

  const leaseOver = submission?.state === 'sending' && (submission.leaseInMs ?? 0) <= 0;
  let resend = false;
  if (submission?.state === 'unknown' || leaseOver) {
    const found = await findUnknownJob(deps, loaded);
    if (found.kind === 'step') return found.step;
    resend = found.kind === 'resend';
  }
  const { routes } = generation.plan;
  const next = nextRoute(submission, routes.length);
  if (next === null) {
    const errorCode = submission?.refusalCode ?? 'provider_unavailable';
    return settleStep(loaded, { state: 'failed', errorCode });
  }
  const live = submission?.state === 'sending' || submission?.state === 'unknown';
  const route = live ? next : Math.min(Math.max(next, input.fromRoute ?? 0), routes.length - 1);
  const provider = routes[route]?.provider;
  if (input.provider !== undefined && provider !== undefined && provider !== input.provider) {
    // Submits to it are counted on its own queue.
    const fromRoute = route > next ? { fromRoute: route } : {};
    return { ...againStep(deps, loaded, 'next_provider', 0), provider, ...fromRoute };
  }
  return send(deps, loaded, route, resend);
}

/** The job goes to the submission that was sent for it, also when a newer one stands by now (design.md §3). */
async function attachFromHistory(
  deps: ActivityDeps,
  generationId: string,
  attach: NonNullable<SubmitInput['attach']>,
): Promise<void> {
  const loaded = await loadGeneration(deps.db, { generationId, dueInMs: WINDOW_MS });
  if (loaded === null) return;
  const { submissionId, jobId } = attach;
  const { generation } = loaded;
  const last = loaded.submission;
  const submission = last?.id === submissionId ? last : await findSubmission(deps.db, submissionId);
  const which = { generation: generationId, submission: submissionId };
  if (submission === null) return deps.log.error(which, 'an accepted job whose submission has no row');
  try {
    const outcome = await attachJob(deps, { generation, submission }, jobId);
    if (outcome === 'job_taken') throw stepBroken('job_taken');
  } catch (error) {
    if (isDatabaseUnavailable(error) || ended(loaded) === null) throw error;
    // The generation has ended: a step that breaks here must not keep its run alive.
    deps.log.error(
      { ...which, error: safeError(error) },
      'a job accepted before the end could not be attached',
    );
  }
}
