import { Counter, Registry } from 'prom-client';
import {
  SWEEP_COUNT_NAMES,
  SWEEP_PASSES,
  SWEEP_PROBLEMS,
  type SweepCount,
  type SweepPass,
  type SweepProblem,
} from '../domain/sweep.ts';

/** What this process's passes of the sweep did. */
export const sweepMetrics = new Registry();

/** How a pass ended; `not_due` passes, which another process has done lately, are not counted. */
const PASS_RESULTS = ['done', 'failed'] as const;
type PassResult = (typeof PASS_RESULTS)[number];

const registers = [sweepMetrics];
const passes = new Counter({
  name: 'darkroom_sweep_passes_total',
  help: 'Passes of the sweep that this process has made, by how they ended.',
  labelNames: ['pass', 'result'],
  registers,
});
const found = new Counter({
  name: 'darkroom_sweep_found_total',
  help: 'What the passes found and did: runs woken or started again, callbacks nobody had read (unseen_woken), jobs attached, orphan and stray jobs, rows set aside.',
  labelNames: ['what'],
  registers,
});
const problems = new Counter({
  name: 'darkroom_sweep_problems_total',
  help: 'What a pass could not do, or found violated; it is tried again.',
  labelNames: ['pass', 'problem'],
  registers,
});

/** Counts a pass and what it brought. */
export function countPass(
  pass: SweepPass,
  result: PassResult,
  counts: Readonly<Partial<Record<SweepCount, number>>> = {},
): void {
  passes.inc({ pass, result });
  for (const what of SWEEP_COUNT_NAMES) found.inc({ what }, counts[what] ?? 0);
}

/** Counts what was left undone. */
export function countSweepProblem(pass: SweepPass, problem: SweepProblem): void {
  problems.inc({ pass, problem });
}

// A counter that appears with its first event shows no increase.
for (const pass of SWEEP_PASSES) {
  for (const result of PASS_RESULTS) passes.inc({ pass, result }, 0);
  for (const problem of SWEEP_PROBLEMS) problems.inc({ pass, problem }, 0);
}
for (const what of SWEEP_COUNT_NAMES) found.inc({ what }, 0);
