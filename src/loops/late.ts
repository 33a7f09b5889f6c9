import { setTimeout as sleep } from 'node:timers/promises';
import { observeLateJobs, type LateContext } from '../services/observe-late-jobs.ts';

const EVERY_MS = 5_000;
const LIMIT = 20;

/** Looks after the end at jobs not known to have ended, until the signal is aborted; workers share them by lease. */
export async function runLateObservations(
  deps: LateContext & { readonly onProblem: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await observeLateJobs(deps, LIMIT).catch(deps.onProblem);
    await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
