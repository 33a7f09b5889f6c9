import type { Db } from '../db/index.ts';
import type { Storage } from '../storage/index.ts';
import { findOrphans } from './find-orphans.ts';

/** Below this many, a storage that is mostly orphans may well be ours: a crash loop leaves a few. */
const FEW = 20;

/** What tidying up needs of the storage. */
export type TidiedStorage = Pick<Storage, 'list' | 'remove'>;

export interface OrphanRemoval {
  /** `foreign`: most old files have no row, as when the storage belongs to another database; nothing was removed. */
  readonly outcome: 'done' | 'foreign';
  /** Old files that were compared with the rows. */
  readonly seen: number;
  /** Those without a row, at most the limit. */
  readonly orphans: readonly string[];
  readonly removed: number;
  /** Those that could not be removed; they come again with the next pass. */
  readonly failed: number;
  /** Whether the limit ended the pass before all files were seen. */
  readonly more: boolean;
}

/**
 * Removes files older than 25 hours that no output and no input has: left by attempts that lost a race or died. At most
 * `limit` in one pass.
 */
export async function removeOrphans(
  ctx: {
    readonly db: Db;
    readonly storage: TidiedStorage;
    readonly onProblem: (error: unknown, path: string) => void;
  },
  options: {
    readonly limit: number;
    /** Tells what would be removed. */
    readonly dryRun?: boolean;
    /** Also when most old files have no row. */
    readonly force?: boolean;
    readonly signal?: AbortSignal;
  },
): Promise<OrphanRemoval> {
  const { limit, dryRun = false, force = false, signal } = options;
  const orphans: string[] = [];
  let seen = 0;
  let more = false;
  for await (const page of findOrphans(ctx)) {
    seen += page.seen;
    const room = limit - orphans.length;
    orphans.push(...page.orphans.slice(0, room));
    more = page.orphans.length > room;
    if (more || signal?.aborted === true) break;
  }
  const found = { seen, orphans, removed: 0, failed: 0, more };
  if (dryRun) return { outcome: 'done', ...found };
  if (!force && orphans.length > FEW && orphans.length * 2 > seen) return { outcome: 'foreign', ...found };
  for (const path of orphans) {
    if (signal?.aborted === true) break;
    try {
      await ctx.storage.remove(path);
      found.removed += 1;
    } catch (error) {
      found.failed += 1;
      ctx.onProblem(error, path);
    }
  }
  return { outcome: 'done', ...found };
}
