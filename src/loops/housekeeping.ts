import { setTimeout as sleep } from 'node:timers/promises';
import { countFileRemovals, pruneHistory } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import { countPrunedRows, countRemovedFiles, showWaitingRemovals } from '../metrics/housekeeping-metrics.ts';
import { HISTORY_LIMITS } from '../services/history-limits.ts';
import { removeFiles } from '../services/remove-files.ts';
import { removeOrphans, type TidiedStorage } from '../services/remove-orphans.ts';

export type HousekeepingProblem =
  | 'removals_failed'
  | 'file_not_removed'
  | 'pruning_failed'
  | 'orphans_failed'
  | 'orphan_not_removed'
  /** Most old files have no row: the storage seems to belong to another database, so nothing was removed. */
  | 'storage_of_another_database';

export interface HousekeepingDeps {
  readonly db: Db;
  readonly storage: TidiedStorage;
  /** Told of what was left undone; it is tried again. `path` is made of our own ids. */
  readonly onProblem: (problem: HousekeepingProblem, error: unknown, path: string | null) => void;
  /** From 0 to 1: spreads the first passes of processes that start together. */
  readonly random: () => number;
}

/** Between passes, in milliseconds; and how much one pass does. */
export interface HousekeepingOptions {
  readonly filesEveryMs: number;
  readonly fileLimit: number;
  readonly fileLeaseMs: number;
  readonly pruneEveryMs: number;
  readonly keepMs: number;
  readonly unmatchedKeepMs: number;
  readonly pruneLimit: number;
  readonly orphansEveryMs: number;
  readonly orphanLimit: number;
}

const HOUR_MS = 3_600_000;
export const HOUSEKEEPING_DEFAULTS: HousekeepingOptions = {
  filesEveryMs: 10_000,
  fileLimit: 100,
  fileLeaseMs: 300_000,
  pruneEveryMs: 600_000,
  keepMs: HISTORY_LIMITS.keepMs,
  unmatchedKeepMs: HISTORY_LIMITS.unmatchedKeepMs,
  pruneLimit: HISTORY_LIMITS.limit,
  orphansEveryMs: 6 * HOUR_MS,
  orphanLimit: 1_000,
};
/** Rounds of one pass while each was full: a bound, so that a pass ends. */
const ROUNDS = 20;

/**
 * Removes files whose time is over, old history and files without a row until the signal is aborted. Every worker runs
 * it: files are shared by lease, pruning by a lock, and removing an orphan twice does no harm.
 */
export async function runHousekeeping(
  deps: HousekeepingDeps,
  signal: AbortSignal,
  options: HousekeepingOptions = HOUSEKEEPING_DEFAULTS,
): Promise<void> {
  const every = async (
    firstMs: number,
    everyMs: number,
    problem: HousekeepingProblem,
    run: () => Promise<void>,
  ) => {
    for (let pauseMs = firstMs; !signal.aborted; pauseMs = everyMs) {
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await run().catch((error: unknown) => deps.onProblem(problem, error, null));
    }
  };
  const { filesEveryMs, pruneEveryMs, orphansEveryMs } = options;
  await Promise.all([
    every(0, filesEveryMs, 'removals_failed', () => removeDueFiles(deps, options, signal)),
    every(pruneEveryMs * deps.random(), pruneEveryMs, 'pruning_failed', () =>
      prune(deps.db, options, signal),
    ),
    every(orphansEveryMs * deps.random(), orphansEveryMs, 'orphans_failed', () =>
      tidy(deps, options, signal),
    ),
  ]);
}

async function removeDueFiles(
  deps: HousekeepingDeps,
  { fileLimit, fileLeaseMs }: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  const ctx = {
    db: deps.db,
    storage: deps.storage,
    onProblem: (error: unknown, path: string) => deps.onProblem('file_not_removed', error, path),
  };
  for (let round = 0; round < ROUNDS && !signal.aborted; round += 1) {
    const claimed = await removeFiles(ctx, { limit: fileLimit, leaseMs: fileLeaseMs }, signal);
    if (claimed < fileLimit) break;
  }
  showWaitingRemovals(await countFileRemovals(deps.db));
}

async function prune(db: Db, options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { keepMs, unmatchedKeepMs, pruneLimit: limit } = options;
  for (let round = 0; round < ROUNDS && !signal.aborted; round += 1) {
    const { callbacks, events, webhooks, more } = await pruneHistory(db, { keepMs, unmatchedKeepMs, limit });
    countPrunedRows('callback', callbacks);
    countPrunedRows('generation_event', events);
    countPrunedRows('webhook_event', webhooks);
    if (!more) return;
  }
}

async function tidy(
  deps: HousekeepingDeps,
  options: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  const { outcome, removed } = await removeOrphans(
    {
      db: deps.db,
      storage: deps.storage,
      onProblem: (error, path) => deps.onProblem('orphan_not_removed', error, path),
    },
    { limit: options.orphanLimit, signal },
  );
  countRemovedFiles('orphan', removed);
  if (outcome === 'foreign') deps.onProblem('storage_of_another_database', null, null);
}
