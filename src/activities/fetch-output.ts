import { recordOutput, renewOutput } from '../db/index.ts';
import type { Observation } from '../domain/provider.ts';
import type { ActivityDeps } from './deps.ts';
import type { AttemptContext, Job } from './job.ts';
import { removeUnnamed, StorageTrouble, tellTrouble } from './storage-trouble.ts';
import { pathOf, storeFile } from './store-file.ts';
import type { FileOutcome, FileTarget } from './store-file.ts';

/** A link that is dead twice, the second time fresh from the provider, is gone for good. */
const GONE_FOR_GOOD = 2;
/** 410 says itself that it is for good: no grace is needed. */
const SAYS_FOR_GOOD = 'link_410';
/** One that is the same at each look is believed to be gone after so many times the grace for "no such job". */
const GRACES = 10;
/** Files of so many attempts before are looked after once the output is decided; more never died in a row. */
const EARLIER_ATTEMPTS = 10;

/** One output to fetch, and a further look at its job, which serves all the outputs of this round. */
export interface FetchTarget extends FileTarget {
  readonly lookAgain: () => Promise<Observation>;
}

/**
 * Copies one output into storage and records the end of this attempt. Once begun it is not stopped by the run moving
 * on, only by the stop of this worker; the lease keeps other attempts waiting meanwhile.
 * @returns whether the output is stored now, by this attempt or another
 */
export async function fetchOutput(
  deps: ActivityDeps,
  job: Job,
  target: FetchTarget,
  context: AttemptContext,
): Promise<{ readonly stored: boolean }> {
  const { generationId, index, attempt } = target;
  const lease = {
    generationId,
    index,
    attempt,
    storeLeaseMs: job.loaded.generation.plan.timings.storeLeaseMs,
  };
  // Kept also while it waits for a slot, so that nobody else queues for the same output, and while it is scanned.
  let renewed: Promise<unknown> = Promise.resolve();
  const renewal = setInterval(() => {
    renewed = renewOutput(deps.db, lease).catch(() => undefined);
  }, lease.storeLeaseMs / 3);
  let release: (() => void) | undefined;
  let outcome: FileOutcome;
  try {
    release = await deps.slots.acquire(target.linkExpiresAt, context.shutdown);
    const isFresh = performance.now() - target.leasedAtMs < lease.storeLeaseMs / 3;
    if (!isFresh && !(await renewOutput(deps.db, lease))) return { stored: false };
    outcome = await storeFile(deps, job, target, context).catch((error: unknown): FileOutcome => {
      if (!(error instanceof StorageTrouble)) throw error;
      tellTrouble(deps, error);
      return { result: 'retry', problem: error.problem, gone: false };
    });
  } finally {
    clearInterval(renewal);
    release?.();
  }
  // One that is under way would take back the lease that the record frees.
  await renewed;
  return recordEnd(deps, job, target, outcome);
}

async function recordEnd(
  deps: ActivityDeps,
  job: Job,
  target: FetchTarget,
  outcome: FileOutcome,
): Promise<{ readonly stored: boolean }> {
  const { generationId, index, attempt } = target;
  const id = { generationId, index, attempt };
  let recorded = await recordOutput(deps.db, { ...id, ...outcome });
  const mine = outcome.result === 'stored' ? outcome.path : null;
  // A record whose answer was lost and that was sent again finds its own file.
  const lost = recorded.outcome === 'lost_race' && (mine === null || recorded.path !== mine);
  if (lost && mine !== null) await removeUnnamed(deps, mine);
  // A trouble of our own between two dead links is not a dead link, however often there was one before.
  const isDead = recorded.outcome === 'recorded' && outcome.result === 'retry' && outcome.gone;
  if (isDead && recorded.goneCount >= GONE_FOR_GOOD && (await isBelieved(job, target, outcome.problem))) {
    recorded = await recordOutput(deps.db, { ...id, result: 'lost', problem: 'link_gone' });
  }
  const problem = 'problem' in outcome ? outcome.problem : undefined;
  deps.log.info(
    {
      generation: generationId,
      output: index,
      attempt,
      result: lost ? 'lost_race' : outcome.result,
      problem,
    },
    'output fetched',
  );
  if (!lost) await removeEarlier(deps, target, recorded);
  return { stored: recorded.state === 'stored' };
}

/**
 * A provider that gives a fresh link at each look has no file behind it any more; where the link is always the same one, the
 * file may come yet for some time after the success.
 */
async function isBelieved(
  job: Job,
  { index, url, lookAgain }: FetchTarget,
  problem: string,
): Promise<boolean> {
  if (problem === SAYS_FOR_GOOD) return true;
  const { generation } = job.loaded;
  // No look is recorded after the one that saw the success.
  const sinceSuccessMs = generation.succeeded ? (job.submission.sinceObservedMs ?? 0) : 0;
  if (sinceSuccessMs >= GRACES * generation.plan.timings.notFoundGraceMs) return true;
  const observation = await lookAgain();
  const now = observation.kind === 'succeeded' ? observation.outputs[index]?.url : undefined;
  return now !== undefined && now !== url;
}

/**
 * What workers left that died between file and row: once the row is decided, no file of this output will be named but
 * the one that stands, whose attempt may be an earlier one. An attempt that still runs loses and removes its own.
 */
export async function removeEarlier(
  deps: ActivityDeps,
  target: Pick<FileTarget, 'generationId' | 'index' | 'attempt'>,
  row: Pick<Awaited<ReturnType<typeof recordOutput>>, 'state' | 'path'>,
): Promise<void> {
  if (row.state === 'storing') return;
  const first = Math.max(1, target.attempt - EARLIER_ATTEMPTS);
  for (let attempt = first; attempt < target.attempt; attempt += 1) {
    const path = pathOf(target, attempt);
    if (path !== row.path) await removeUnnamed(deps, path);
  }
}
