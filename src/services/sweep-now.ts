import {
  SWEEP_COUNT_NAMES,
  SWEEP_PASSES,
  type SweepCount,
  type SweepPass,
  type SweepProblem,
} from '../domain/sweep.ts';
import type { SweepContext } from './sweep-context.ts';
import { counted, runPass } from './sweep-passes.ts';

/** What one pass of each brought. */
export interface SweepReport {
  readonly counts: Readonly<Record<SweepCount, number>>;
  /** What could not be done, or was found violated, with how often; it is tried again by the loops. */
  readonly failed: readonly {
    readonly pass: SweepPass;
    readonly problem: SweepProblem;
    readonly times: number;
    /** Ids, providers or names of invariants; at most ten. */
    readonly keys: readonly string[];
  }[];
  /** Passes that need providers, where none is configured. */
  readonly leftToWorkers: readonly SweepPass[];
}

const LIMIT_MS = 60_000;
const MAX_KEYS = 10;
const OF_PROVIDERS: ReadonlySet<SweepPass> = new Set(['jobs', 'late']);

/** Makes one pass of every kind now, whoever has made one lately; each is bounded, and none stops another. */
export async function sweepNow(ctx: SweepContext): Promise<SweepReport> {
  const failed = new Map<string, { pass: SweepPass; problem: SweepProblem; times: number; keys: string[] }>();
  const own: SweepContext = {
    ...ctx,
    signal: AbortSignal.any([ctx.signal, AbortSignal.timeout(LIMIT_MS)]),
    onProblem: counted((pass, problem, error, key, examples) => {
      ctx.onProblem(pass, problem, error, key, examples);
      const entry = failed.get(`${pass} ${problem}`) ?? { pass, problem, times: 0, keys: [] };
      entry.times += 1;
      if (key !== null && entry.keys.length < MAX_KEYS) entry.keys.push(key);
      failed.set(`${pass} ${problem}`, entry);
    }),
  };
  const leftToWorkers = ctx.providers.size === 0 ? SWEEP_PASSES.filter((pass) => OF_PROVIDERS.has(pass)) : [];
  const passes = SWEEP_PASSES.filter((pass) => !leftToWorkers.includes(pass));
  const brought = await Promise.all(passes.map((pass) => runPass(own, pass, 0)));
  const sum = (what: SweepCount) => brought.reduce((total, counts) => total + (counts?.[what] ?? 0), 0);
  const counts = Object.fromEntries(SWEEP_COUNT_NAMES.map((what) => [what, sum(what)]));
  return { counts: counts as Record<SweepCount, number>, failed: [...failed.values()], leftToWorkers };
}
