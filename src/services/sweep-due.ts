import { claimDueGenerations, parkGeneration, releaseDueGeneration } from '../db/index.ts';
import { isTemporalUnavailable } from '../temporal/runs.ts';
import { inParallel } from './in-parallel.ts';
import type { SweepContext } from './sweep-context.ts';

export interface DueOptions {
  /** How long a row may be overdue before it is woken. */
  readonly graceMs: number;
  /** Rows per pass. */
  readonly limit: number;
}

export const DUE_DEFAULTS: DueOptions = { graceMs: 5_000, limit: 200 };

/** What came of rows that were due: woken, parked since they cannot be read, or set aside with a growing pause. */
export interface DueSwept {
  readonly due: number;
  readonly woken: number;
  readonly parked: number;
  readonly setAside: number;
}

const CONCURRENCY = 8;
const PARKED_MS = 3_600_000;

/**
 * One pass over what is overdue, and over wakes that nobody took: each is woken once. One that fails stops none of the
 * others: it stays pushed back, longer each time; if Temporal itself is away, it is due again at once and nothing counts.
 */
export async function sweepDue(
  ctx: Pick<SweepContext, 'db' | 'ensure' | 'onProblem'>,
  options: DueOptions = DUE_DEFAULTS,
): Promise<DueSwept> {
  const due = await claimDueGenerations(ctx.db, { limit: options.limit, graceMs: options.graceMs });
  let woken = 0;
  let parked = 0;
  let setAside = 0;
  await inParallel(due.unreadable, CONCURRENCY, async (generationId) => {
    ctx.onProblem('due', 'unreadable_row', null, generationId);
    try {
      await parkGeneration(ctx.db, { generationId, reason: 'unreadable_plan', dueInMs: PARKED_MS });
      parked += 1;
    } catch (error) {
      ctx.onProblem('due', 'pass_failed', error, generationId);
    }
  });
  await inParallel(due.runs, CONCURRENCY, async (facts) => {
    const { generationId } = facts;
    try {
      await ctx.ensure(facts, 'sweep');
      woken += 1;
    } catch (error) {
      const away = isTemporalUnavailable(error);
      ctx.onProblem('due', away ? 'temporal_unavailable' : 'ensure_failed', error, generationId);
      if (!away) setAside += 1;
      else await releaseDueGeneration(ctx.db, generationId).catch(() => undefined);
    }
  });
  return { due: due.runs.length + due.unreadable.length, woken, parked, setAside };
}
