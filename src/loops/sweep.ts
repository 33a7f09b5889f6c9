import { setTimeout as sleep } from 'node:timers/promises';
import { INVARIANTS_DEFAULTS } from '../services/check-recent-invariants.ts';
import { JOBS_DEFAULTS } from '../services/reconcile-jobs.ts';
import { RUNS_DEFAULTS } from '../services/reconcile-runs.ts';
import type { SweepContext } from '../services/sweep-context.ts';
import { INBOX_DEFAULTS } from '../services/sweep-inbox.ts';
import { counted, runPass } from '../services/sweep-passes.ts';

/** How often each pass is made, in milliseconds, by all processes together; what is due is looked for in each of them. */
export const SWEEP_INTERVALS = {
  due: 2_000,
  inbox: INBOX_DEFAULTS.everyMs,
  runs: RUNS_DEFAULTS.everyMs,
  jobs: JOBS_DEFAULTS.everyMs,
  invariants: INVARIANTS_DEFAULTS.everyMs,
} as const satisfies Partial<Record<Parameters<typeof runPass>[1], number>>;
/** Processes look for a turn a little early, so that the one process of a small installation never misses its own. */
const EARLY = 0.9;

/**
 * Sweeps until the signal is aborted, in every API and worker process: they share rows by lock and passes by turn. Each
 * pass has its own loop and its own failures. Looks after the end and retention have loops of their own in workers.
 */
export async function runSweep(
  ctx: Omit<SweepContext, 'signal'>,
  signal: AbortSignal,
  intervals: Readonly<Record<keyof typeof SWEEP_INTERVALS, number>> = SWEEP_INTERVALS,
): Promise<void> {
  const own: SweepContext = { ...ctx, signal, onProblem: counted(ctx.onProblem) };
  await Promise.all(
    (Object.keys(intervals) as (keyof typeof intervals)[]).map(async (pass) => {
      while (!signal.aborted) {
        await runPass(own, pass, intervals[pass] * EARLY);
        await sleep(intervals[pass], undefined, { signal }).catch(() => undefined);
      }
    }),
  );
}
