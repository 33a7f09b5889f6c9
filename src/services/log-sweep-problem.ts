import { safeError } from '../domain/safe-error.ts';
import type { Log } from '../log.ts';
import type { OnSweepProblem } from './sweep-context.ts';

/** One line for each thing that a pass of the sweep could not do or found amiss; a violated invariant is an error. */
export function logSweepProblem(log: Pick<Log, 'warn' | 'error'>): OnSweepProblem {
  return (pass, problem, error, key, examples) => {
    const fields = { pass, problem, error: error === null ? null : safeError(error), ...named(pass, key) };
    if (problem === 'invariant_violated') log.error({ ...fields, examples }, 'sweep');
    else log.warn(fields, 'sweep');
  };
}

/** The field that says what a key is. */
function named(pass: Parameters<OnSweepProblem>[0], key: string | null) {
  if (key === null) return {};
  if (key.startsWith('gen_')) return { generation: key };
  if (key.startsWith('sub_')) return { submission: key };
  if (pass === 'files') return { path: key };
  return pass === 'invariants' ? { check: key } : { provider: key };
}
