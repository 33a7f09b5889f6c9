import type { LoadedGeneration } from '../db/index.ts';
import type { Plan } from '../domain/plan.ts';

/** When the first look at a job is due, from its acceptance: late where callbacks are expected (design.md §5). */
export function firstPollMs(plan: Plan, callbacks: boolean): number {
  return callbacks
    ? Math.max(plan.timings.firstPollMs, plan.expectedDurationSeconds * 1_000)
    : plan.timings.pollInitialMs;
}

/** The same from now, for a run that comes back to a job; at once when something asks for it. */
export function firstPollInMs({ generation, submission, hints }: LoadedGeneration): number {
  if (submission === null || submission.terminalHint || generation.cancelRequested) return 0;
  if (hints.some(({ terminal }) => terminal)) return 0;
  const first = firstPollMs(generation.plan, submission.callbacks);
  return Math.max(0, Math.min(first - (submission.sinceAcceptedMs ?? 0), generation.deadlineInMs + 50));
}
