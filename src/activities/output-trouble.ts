import { countOutputProblem } from '../metrics/job-metrics.ts';
import type { ActivityDeps } from './deps.ts';

/**
 * What keeps a file from us that the provider has: a host that our list does not have, a key that it refuses for the file,
 * a JSON text in the place of the file. Each can be mended or passes, so it never ends an output that is paid for there.
 */
export type OutputTrouble = 'blocked_host' | 'key_refused' | 'file_not_ready';

const MESSAGES: Readonly<Record<OutputTrouble, string>> = {
  blocked_host: 'outputs lie at a host that is not allowed: each is tried again for as long as it can be had',
  key_refused: 'the key is refused for the file: each output is tried again for as long as it can be had',
  file_not_ready:
    'JSON came in the place of the file: each output is tried again for as long as it can be had',
};

/** What operators have been told of, by provider, until a file of that provider is stored again. */
const told = new WeakMap<ActivityDeps['http'], Map<string, Set<OutputTrouble>>>();

/** Counts a trouble of one file, and tells operators once for all the files of a provider that it stops. */
export function tellOutputTrouble(
  { http, log }: ActivityDeps,
  provider: string,
  problem: OutputTrouble,
): void {
  countOutputProblem(problem);
  const byProvider = told.get(http) ?? new Map<string, Set<OutputTrouble>>();
  told.set(http, byProvider);
  const known = byProvider.get(provider) ?? new Set();
  byProvider.set(provider, known);
  if (known.has(problem)) return;
  known.add(problem);
  // A file that is late is usual for a while; the other two stay until somebody mends them.
  const level = problem === 'file_not_ready' ? 'warn' : 'error';
  log[level]({ provider, problem, advice: adviceFor(provider, problem) }, MESSAGES[problem]);
}

/** A file of this provider was stored: the next trouble is a new one. */
export function forgetOutputTrouble({ http }: ActivityDeps, provider: string): void {
  told.get(http)?.delete(provider);
}

function adviceFor(provider: string, problem: OutputTrouble): string {
  const settings = `PROVIDER_${provider.toUpperCase()}`;
  if (problem === 'blocked_host') {
    return `add the host of its files to ${settings}_OUTPUT_HOSTS and restart the workers`;
  }
  return problem === 'key_refused'
    ? `check ${settings}_API_KEY: it must stay the one that submitted the job`
    : `if it stays so, its files may lie elsewhere: see ${settings}_OUTPUT_HOSTS and the other settings of the provider`;
}
