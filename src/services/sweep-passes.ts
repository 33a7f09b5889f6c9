import { pruneHistory } from '../db/index.ts';
import type { SweepCount, SweepPass } from '../domain/sweep.ts';
import { countPass, countSweepProblem } from '../metrics/sweep-metrics.ts';
import { checkChangedInvariants, INVARIANTS_DEFAULTS } from './check-recent-invariants.ts';
import { HISTORY_LIMITS } from './history-limits.ts';
import { observeLateJobs } from './observe-late-jobs.ts';
import { JOBS_DEFAULTS, reconcileJobs } from './reconcile-jobs.ts';
import { reconcileRuns, RUNS_DEFAULTS } from './reconcile-runs.ts';
import { removeFiles } from './remove-files.ts';
import type { OnSweepProblem, SweepContext } from './sweep-context.ts';
import { DUE_DEFAULTS, sweepDue } from './sweep-due.ts';
import { INBOX_DEFAULTS, sweepInbox } from './sweep-inbox.ts';

/** What a pass brought, by the names of its counts. */
export type PassCounts = Readonly<Partial<Record<SweepCount, number>>>;

/** `everyMs` 0 = now, whoever has done it lately. */
type Pass = (ctx: SweepContext, everyMs: number) => Promise<PassCounts | null>;

const LATE_LIMIT = 20;
const FILES = { limit: 100, leaseMs: 300_000 };

const PASSES: Readonly<Record<SweepPass, Pass>> = {
  async due(ctx) {
    const { woken, parked, setAside } = await sweepDue(ctx, DUE_DEFAULTS);
    return { due_woken: woken, rows_parked: parked, rows_set_aside: setAside };
  },
  async inbox(ctx, everyMs) {
    const woken = await sweepInbox(ctx, { ...INBOX_DEFAULTS, everyMs });
    return woken === null ? null : { unseen_woken: woken };
  },
  async runs(ctx, everyMs) {
    const done = await reconcileRuns(ctx, { ...RUNS_DEFAULTS, everyMs });
    return done === null ? null : { runs_checked: done.checked, runs_ensured: done.ensured };
  },
  async jobs(ctx, everyMs) {
    const done = await reconcileJobs(ctx, { ...JOBS_DEFAULTS, everyMs });
    if (done === null) return null;
    const { listed, matched, orphans, strays } = done;
    return { jobs_listed: listed, jobs_matched: matched, orphan_jobs: orphans, stray_jobs: strays };
  },
  async late(ctx) {
    const onLateSuccess = (submission: string) => ctx.onProblem('late', 'late_success', null, submission);
    return { late_observed: await observeLateJobs({ ...ctx, onLateSuccess }, LATE_LIMIT) };
  },
  async files(ctx) {
    let failed = 0;
    const onProblem = (error: unknown, path: string) => {
      failed += 1;
      ctx.onProblem('files', 'file_not_removed', error, path);
    };
    const claimed = await removeFiles({ ...ctx, onProblem }, FILES, ctx.signal);
    return { files_removed: claimed - failed };
  },
  async history(ctx) {
    const { callbacks, events, webhooks } = await pruneHistory(ctx.db, HISTORY_LIMITS);
    return { rows_pruned: callbacks + events + webhooks };
  },
  async invariants(ctx, everyMs) {
    const violated = await checkChangedInvariants(ctx, { ...INVARIANTS_DEFAULTS, everyMs });
    return violated === null
      ? null
      : { violations: violated.reduce((sum, { violations }) => sum + violations, 0) };
  },
};

/** Counts every problem as a metric before it is told. */
export function counted(onProblem: OnSweepProblem): OnSweepProblem {
  return (pass, problem, error, key, examples) => {
    countSweepProblem(pass, problem);
    onProblem(pass, problem, error, key, examples);
  };
}

/**
 * Makes one pass. It never throws: what fails is told through `onProblem` and counted.
 * @returns null when it failed, or when another process has done it within `everyMs`
 */
export async function runPass(
  ctx: SweepContext,
  pass: SweepPass,
  everyMs: number,
): Promise<PassCounts | null> {
  try {
    const counts = await PASSES[pass](ctx, everyMs);
    if (counts !== null) countPass(pass, 'done', counts);
    return counts;
  } catch (error) {
    countPass(pass, 'failed');
    ctx.onProblem(pass, 'pass_failed', error, null);
    return null;
  }
}
