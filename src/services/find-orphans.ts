import { findPathsWithoutRow } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import type { Storage } from '../storage/index.ts';

const PAGE = 500;
/** No attempt at storing lives this long: a file without a row is not on its way. */
const OLD_MS = 25 * 3_600_000;

/** Old files of the storage, page by page: how many there were, and those that no output and no input has. */
export async function* findOrphans(ctx: {
  readonly db: Db;
  readonly storage: Pick<Storage, 'list'>;
}): AsyncGenerator<{ readonly seen: number; readonly orphans: readonly string[] }> {
  let paths: string[] = [];
  for await (const path of ctx.storage.list(new Date(Date.now() - OLD_MS))) {
    paths.push(path);
    if (paths.length < PAGE) continue;
    yield { seen: paths.length, orphans: await findPathsWithoutRow(ctx.db, paths) };
    paths = [];
  }
  if (paths.length > 0) yield { seen: paths.length, orphans: await findPathsWithoutRow(ctx.db, paths) };
}
