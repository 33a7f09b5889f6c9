import { setTimeout as sleep } from 'node:timers/promises';
import { findRunFacts, recordLateCancel, recordSubmission } from '../db/index.ts';
import { claimPass, markPass, matchListedJob, type PassMark } from '../db/sweep.ts';
import type { ListedJob, Provider, ProviderCredential } from '../domain/provider.ts';
import type { SweepContext } from './sweep-context.ts';

export interface JobsOptions {
  /** Between passes of all processes together, for each credential; 0 = now. */
  readonly everyMs: number;
  /** Pages of 100 jobs per pass and credential. */
  readonly pages: number;
  /** Between two calls, so that looks at jobs keep their budget. */
  readonly spacingMs: number;
  readonly callTimeoutMs: number;
}

export const JOBS_DEFAULTS: JobsOptions = {
  everyMs: 600_000,
  pages: 5,
  spacingMs: 1_000,
  callTimeoutMs: 15_000,
};

/** Jobs that were listed, attached to their submission, and those without one: a second job, or none of our rows. */
export interface JobsReconciled {
  readonly listed: number;
  readonly matched: number;
  readonly orphans: number;
  readonly strays: number;
}

const PAGE = 100;
const TEXT_LIMIT = 255;
const CANCEL_TIMEOUT_MS = 15_000;
type Counts = { -readonly [K in keyof JobsReconciled]: number };
type Ctx = Pick<SweepContext, 'db' | 'ensure' | 'providers' | 'callbacks' | 'onProblem' | 'signal'>;

/**
 * Compares the newest jobs of each provider that has a list with our rows, back to where the pass before the last began, so
 * that a job is met twice: its answer may have been on its way. Matched is what shows our signed callback URL or our external
 * id, never anything else.
 * @returns null when there was no turn for any
 */
export async function reconcileJobs(
  ctx: Ctx,
  options: JobsOptions = JOBS_DEFAULTS,
): Promise<JobsReconciled | null> {
  const counts: Counts = { listed: 0, matched: 0, orphans: 0, strays: 0 };
  let turns = 0;
  for (const { provider, credentials } of ctx.providers.values()) {
    if (!provider.capabilities.list || provider.list === undefined) continue;
    for (const credential of credentials.values()) {
      const name = `jobs:${provider.name}:${credential.name}`;
      const turn = await claimPass(ctx.db, name, options.everyMs);
      if (turn === null) continue;
      turns += 1;
      try {
        const place = await compareList(ctx, provider, credential, turn, options, counts);
        await markPass(ctx.db, name, { at: null, place });
      } catch (error) {
        ctx.onProblem('jobs', 'pass_failed', error, provider.name);
      }
    }
  }
  return turns === 0 ? null : counts;
}

/** @returns the newest job of this pass and that of the one before, for the next pass. */
async function compareList(
  ctx: Ctx,
  provider: Provider,
  credential: ProviderCredential,
  turn: PassMark,
  options: JobsOptions,
  counts: Counts,
): Promise<string | null> {
  const [last, beforeLast] = readPlace(turn.place);
  let newest: string | null = null;
  let after: string | null = null;
  for (let page = 0; page < options.pages; page += 1) {
    if (page > 0) await sleep(options.spacingMs, undefined, { signal: ctx.signal }).catch(() => undefined);
    if (ctx.signal.aborted) return turn.place;
    const window = { after, limit: PAGE };
    const listed = await provider.list!(window, { credential, timeoutMs: options.callTimeoutMs });
    if (listed.kind === 'unavailable') {
      ctx.onProblem('jobs', 'list_unavailable', null, provider.name);
      // What was not reached now is reached next time.
      return turn.place;
    }
    for (const job of listed.jobs) {
      if (job.handle.jobId === beforeLast) return JSON.stringify([newest ?? last, last]);
      newest ??= job.handle.jobId;
      counts.listed += 1;
      await compareJob(ctx, provider, credential, job, counts).catch((error: unknown) =>
        ctx.onProblem('jobs', 'job_not_matched', error, provider.name),
      );
    }
    after = listed.nextCursor;
    if (after === null) break;
  }
  return JSON.stringify([newest ?? last, last]);
}

function readPlace(place: string | null): [last: string | null, beforeLast: string | null] {
  if (place === null) return [null, null];
  const [last = null, beforeLast = null] = JSON.parse(place) as (string | null)[];
  return [last, beforeLast];
}

async function compareJob(
  ctx: Ctx,
  provider: Provider,
  credential: ProviderCredential,
  { handle, callbackUrl, externalId }: ListedJob,
  counts: Counts,
): Promise<void> {
  const signed = callbackUrl === null ? null : ctx.callbacks.submissionOf(callbackUrl);
  const key = externalId !== null && externalId.length <= TEXT_LIMIT ? externalId : null;
  if (signed === null && key === null) return;
  const match = await matchListedJob(ctx.db, {
    provider: provider.name,
    credential: credential.name,
    jobId: handle.jobId,
    submissionId: signed,
    idempotencyKey: signed === null ? key : null,
    ours: signed !== null,
  });
  if (match.outcome === 'orphan') counts.orphans += 1;
  if (match.outcome === 'stray') counts.strays += 1;
  if (match.outcome !== 'attach') return;
  const record = await recordSubmission(ctx.db, {
    submissionId: match.submissionId,
    kind: 'accepted',
    jobId: handle.jobId,
    handle,
    providerStatus: null,
    dueInMs: 0,
  });
  if (record.outcome === 'job_taken') {
    ctx.onProblem('jobs', 'job_taken', null, match.submissionId);
    return;
  }
  counts.matched += 1;
  if (record.outcome === 'attached_late') {
    // Nobody waits for it any more: asked once to stop, looked at until it has ended.
    const answer = await provider.cancel(handle, { credential, timeoutMs: CANCEL_TIMEOUT_MS });
    if (await recordLateCancel(ctx.db, match.submissionId, answer))
      ctx.onProblem('jobs', 'late_success', null, match.submissionId);
    return;
  }
  const generationId = `gen_${match.submissionId.split('_')[1]}`;
  const found = await findRunFacts(ctx.db, generationId);
  // Its row is due now: the pass over what is due does it if this is lost.
  if (found?.ended === false) await ctx.ensure(found.run, 'sweep').catch(() => undefined);
}
