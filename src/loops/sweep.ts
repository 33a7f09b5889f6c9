import { setTimeout as sleep } from 'node:timers/promises';
import { claimDueGenerations, parkGeneration, releaseDueGeneration } from '../db/index.ts';
import type { Db, RunFacts } from '../db/index.ts';

export interface SweepDeps {
  readonly db: Db;
  readonly ensure: (facts: RunFacts, reason: 'sweep') => Promise<void>;
  /** Told of a pass that failed (database away) or of a run that could not be ensured. */
  readonly onProblem: (
    problem: 'pass_failed' | 'ensure_failed' | 'unreadable_row',
    error: unknown,
    generationId: string | null,
  ) => void;
}

export interface SweepOptions {
  /** Between passes, in milliseconds. */
  readonly everyMs: number;
  /** How long a row may be overdue before it is woken. */
  readonly graceMs: number;
  /** Rows per pass. */
  readonly limit: number;
}

export const SWEEP_DEFAULTS: SweepOptions = { everyMs: 2_000, graceMs: 5_000, limit: 200 };
const CONCURRENCY = 8;
const PARKED_MS = 3_600_000;

/** One pass: everything due is woken once; one that fails never stops the others. @returns how many were due. */
export async function sweepOnce(deps: SweepDeps, options: SweepOptions = SWEEP_DEFAULTS): Promise<number> {
  const due = await claimDueGenerations(deps.db, { limit: options.limit, graceMs: options.graceMs });
  for (const generationId of due.unreadable) {
    deps.onProblem('unreadable_row', null, generationId);
    await parkGeneration(deps.db, { generationId, reason: 'unreadable_plan', dueInMs: PARKED_MS });
  }
  const queue = [...due.runs];
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let facts = queue.shift(); facts !== undefined; facts = queue.shift()) {
        const { generationId } = facts;
        await deps.ensure(facts, 'sweep').catch(async (error: unknown) => {
          deps.onProblem('ensure_failed', error, generationId);
          await releaseDueGeneration(deps.db, generationId);
        });
      }
    }),
  );
  return due.runs.length + due.unreadable.length;
}

/** Sweeps until the signal is aborted; runs in every API and worker process, which share the rows by lock. */
export async function runSweep(
  deps: SweepDeps,
  signal: AbortSignal,
  options: SweepOptions = SWEEP_DEFAULTS,
): Promise<void> {
  while (!signal.aborted) {
    await sweepOnce(deps, options).catch((error: unknown) => deps.onProblem('pass_failed', error, null));
    await sleep(options.everyMs, undefined, { signal }).catch(() => undefined);
  }
}
