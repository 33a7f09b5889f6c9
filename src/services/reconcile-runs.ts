import { claimPass, markPass, readPageOfRuns } from '../db/sweep.ts';
import { findRunFacts } from '../db/index.ts';
import type { RunFacts } from '../db/index.ts';
import { isTemporalUnavailable } from '../temporal/runs.ts';
import { inParallel } from './in-parallel.ts';
import type { SweepContext } from './sweep-context.ts';

export interface RunsOptions {
  /** Between passes of all processes together; 0 = now. */
  readonly everyMs: number;
  /** Rows due sooner are left to the pass over what is due. */
  readonly farMs: number;
  /** The same for rows whose submission is unknown: only their run searches for the job. */
  readonly unknownFarMs: number;
  /** Rows of each kind per pass. */
  readonly limit: number;
  /** After this no further run is asked for. */
  readonly timeLimitMs: number;
}

export const RUNS_DEFAULTS: RunsOptions = {
  everyMs: 60_000,
  farMs: 60_000,
  unknownFarMs: 10_000,
  limit: 200,
  timeLimitMs: 30_000,
};

/** `complete` = false when Temporal was away or the time was over: what was left comes with the next pass. */
export interface RunsReconciled {
  readonly checked: number;
  readonly ensured: number;
  readonly complete: boolean;
}

const CONCURRENCY = 8;

/**
 * Asks Temporal for the runs of rows that wait long, a page at a time, and ensures those that are closed, terminated or
 * gone. Rows with an unknown submission have a page of their own: while their run lives it searches by itself.
 * @returns null when another process has done it lately
 */
export async function reconcileRuns(
  ctx: Pick<SweepContext, 'db' | 'ensure' | 'isRunOpen' | 'onProblem' | 'signal'>,
  options: RunsOptions = RUNS_DEFAULTS,
): Promise<RunsReconciled | null> {
  const endMs = performance.now() + options.timeLimitMs;
  const kinds = [
    { name: 'runs_unknown', unknown: true, farMs: options.unknownFarMs },
    { name: 'runs', unknown: false, farMs: options.farMs },
  ];
  let checked = 0;
  let ensured = 0;
  let stopped = false;
  let turns = 0;
  const asked = new Set<string>();
  const check = async (facts: RunFacts): Promise<void> => {
    const { generationId } = facts;
    try {
      const open = await ctx.isRunOpen(generationId);
      checked += 1;
      asked.add(generationId);
      // It may have ended since the page was read.
      if (open || (await findRunFacts(ctx.db, generationId))?.ended !== false) return;
      await ctx.ensure(facts, 'sweep');
      ensured += 1;
    } catch (error) {
      const away = isTemporalUnavailable(error);
      if (!away) asked.add(generationId);
      if (away && stopped) return;
      stopped ||= away;
      ctx.onProblem('runs', away ? 'temporal_unavailable' : 'ensure_failed', error, generationId);
    }
  };
  for (const { name, unknown, farMs } of kinds) {
    const turn = await claimPass(ctx.db, name, options.everyMs);
    if (turn === null) continue;
    turns += 1;
    const page = await readPageOfRuns(ctx.db, { after: turn.place, limit: options.limit, farMs, unknown });
    await inParallel(
      page.runs,
      CONCURRENCY,
      check,
      () => (stopped ||= ctx.signal.aborted || performance.now() > endMs),
    );
    // A page that was not finished goes on behind the last one before the first that was not asked for.
    const first = page.runs.findIndex(({ generationId }) => !asked.has(generationId));
    const place = first === -1 ? page.place : (page.runs[first - 1]?.generationId ?? turn.place);
    if (place !== turn.place || first === -1) await markPass(ctx.db, name, { at: null, place });
  }
  return turns === 0 ? null : { checked, ensured, complete: !stopped };
}
