import type { LoadedGeneration, LoadedSubmission } from '../db/index.ts';
import type { ProviderHandle } from '../domain/provider.ts';
import type { ActivityDeps } from './deps.ts';
import { stepBroken } from './failures.ts';
import { accessOf } from './steps.ts';

/** What the worker's runtime gives to an attempt: its number, its end, a sign of life. */
export interface AttemptContext {
  /** From 1; grows while the same look is repeated. */
  readonly attempt: number;
  /** Aborted when the run has moved on, or the worker stops. */
  readonly signal: AbortSignal;
  /** Aborted only when this worker stops. */
  readonly shutdown: AbortSignal;
  /** So many more bytes have arrived; the sum goes out with the sign of life. */
  readonly received: (bytes: number) => void;
}

/** A loaded row whose provider has the job. */
export interface Job {
  readonly loaded: LoadedGeneration;
  readonly submission: LoadedSubmission;
  readonly handle: ProviderHandle;
}

/** How this job's provider is called: with the credential that submitted it. */
export function callsOf(deps: ActivityDeps, { loaded, submission }: Job) {
  const access = accessOf(deps, submission.provider);
  const credential = access.credential(submission.credential);
  if (credential === undefined) throw stepBroken('unknown_credential');
  const options = { credential, timeoutMs: loaded.generation.plan.timings.observeHttpTimeoutMs };
  return { provider: access.provider, options };
}
