import type { InvariantResult } from '../db/index.ts';
import {
  checkRecentInvariants,
  invariantLabel,
  readClock,
  readKeptViolations,
  type ChangePlace,
} from '../db/recent-invariants.ts';
import { claimPass, markPass } from '../db/sweep.ts';
import type { SweepContext } from './sweep-context.ts';

export interface InvariantsOptions {
  /** Between passes of all processes together; 0 = now. */
  readonly everyMs: number;
  /** Changed generations in one statement. */
  readonly limit: number;
  /** After this no further page is begun. */
  readonly timeLimitMs: number;
}

export const INVARIANTS_DEFAULTS: InvariantsOptions = {
  everyMs: 60_000,
  limit: 500,
  timeLimitMs: 30_000,
};
const PASS = 'invariants';
/** Longer than any transaction of ours: what was written before the last check and committed after it is met again. */
const OVERLAP_MS = 90_000;
/** Where nothing was ever checked. */
const FIRST_MS = 3_600_000;

/**
 * Checks the invariants of what changed since the last check, and again what was violated then, so that a violation stays
 * told until it is mended. The whole database is checked by `darkroom doctor` only.
 * @returns the violated ones, or null when another process has done it lately
 */
export async function checkChangedInvariants(
  ctx: Pick<SweepContext, 'db' | 'onProblem' | 'signal'>,
  options: InvariantsOptions = INVARIANTS_DEFAULTS,
): Promise<readonly InvariantResult[] | null> {
  const turn = await claimPass(ctx.db, PASS, options.everyMs);
  if (turn === null) return null;
  const endMs = performance.now() + options.timeLimitMs;
  const clock = await readClock(ctx.db, FIRST_MS);
  const found = new Map<string, InvariantResult>();
  let from: ChangePlace | string =
    turn.at === null ? clock.before : new Date(Date.parse(turn.at) - OVERLAP_MS).toISOString();
  let watched = Object.values(readKeptViolations(turn.place)).flatMap(({ examples }) => examples);
  for (;;) {
    const { results, next } = await checkRecentInvariants(ctx.db, { from, limit: options.limit, watched });
    for (const result of results) if (result.violations > 0) found.set(result.name, merged(found, result));
    if (next === null) {
      from = clock.now;
      break;
    }
    from = next;
    watched = [];
    if (ctx.signal.aborted || performance.now() > endMs) break;
  }
  const place = JSON.stringify(
    Object.fromEntries(
      [...found.values()].map(({ name, violations, examples }) => [name, { violations, examples }]),
    ),
  );
  await markPass(ctx.db, PASS, { at: typeof from === 'string' ? from : from.at, place });
  for (const { name, examples } of found.values())
    ctx.onProblem('invariants', 'invariant_violated', null, invariantLabel(name), examples);
  return [...found.values()];
}

function merged(found: ReadonlyMap<string, InvariantResult>, result: InvariantResult): InvariantResult {
  const before = found.get(result.name);
  const examples = [...new Set([...(before?.examples ?? []), ...result.examples])];
  return {
    name: result.name,
    // A row that is watched can be met on its own page again.
    violations: Math.max(before?.violations ?? 0, result.violations, examples.length),
    examples: examples.slice(0, 10),
  };
}
