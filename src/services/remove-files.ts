import { claimFileRemovals, finishFileRemoval } from '../db/index.ts';
import type { Db, FileRemoval } from '../db/index.ts';
import { countRemovedFiles } from '../metrics/housekeeping-metrics.ts';
import type { Storage } from '../storage/index.ts';

const CONCURRENCY = 8;
/** A storage that does not answer must not stop the others; the file is tried again after its lease. */
const REMOVE_LIMIT_MS = 30_000;

export interface RemovalOptions {
  /** Files of each kind in one call. */
  readonly limit: number;
  /** How long nobody else takes a file, and a file that could not be removed waits. */
  readonly leaseMs: number;
}

/**
 * Removes files whose time is over or whose deletion was asked for, from the storage, then says so in their rows. A file
 * that can't be removed stops none of the others and stays `deleting`.
 * @returns how many were claimed
 */
export async function removeFiles(
  ctx: {
    readonly db: Db;
    readonly storage: Pick<Storage, 'remove'>;
    readonly onProblem: (error: unknown, path: string) => void;
  },
  options: RemovalOptions,
  signal?: AbortSignal,
): Promise<number> {
  const files = await claimFileRemovals(ctx.db, options);
  const queue = [...files];
  const removeNext = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if (signal?.aborted === true) return;
      const { path } = file;
      await removeFile(ctx, file).catch((error: unknown) => ctx.onProblem(error, path));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, removeNext));
  return files.length;
}

async function removeFile(
  { db, storage }: { readonly db: Db; readonly storage: Pick<Storage, 'remove'> },
  file: FileRemoval,
): Promise<void> {
  await withinLimit(storage.remove(file.path));
  await finishFileRemoval(db, file);
  countRemovedFiles(file.kind, 1);
}

async function withinLimit(removing: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the storage did not remove a file in time')), REMOVE_LIMIT_MS);
  });
  try {
    await Promise.race([removing, late]);
  } finally {
    clearTimeout(timer);
  }
}
