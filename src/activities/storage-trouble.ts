import { safeError } from '../domain/safe-error.ts';
import { countOutputProblem } from '../metrics/job-metrics.ts';
import { StorageError } from '../storage/index.ts';
import type { Storage } from '../storage/index.ts';
import type { ActivityDeps } from './deps.ts';

/** No space left, by the codes of Node.js and of S3 servers. */
const FULL: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'QuotaExceeded',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
  'InsufficientStorage',
]);

/** The storage did not take a file now; it may later. */
export class StorageTrouble extends Error {
  override readonly name = 'StorageTrouble';
  readonly problem: 'storage_full' | 'storage_unavailable';

  constructor(cause: unknown) {
    super('the storage did not take the file', { cause });
    const { code } = Object(cause) as { code?: unknown };
    this.problem = FULL.has(code) ? 'storage_full' : 'storage_unavailable';
  }
}

/** One step of the storage, whose failures are told apart from all others. */
export async function inStorage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw new StorageTrouble(error);
  }
}

/** Storages whose trouble the operators have been told of, until something is stored again. */
const told = new WeakSet<Storage>();

/** Counts a trouble of the storage, and tells operators once for all the files that it stops. */
export function tellTrouble({ storage, log }: ActivityDeps, trouble: StorageTrouble): void {
  countOutputProblem(trouble.problem);
  if (told.has(storage)) return;
  told.add(storage);
  const { problem, cause } = trouble;
  log.error(
    { problem, advice: cause instanceof StorageError ? cause.message : undefined, error: safeError(cause) },
    'outputs cannot be stored: free space, or check STORAGE_URL; nothing is charged, each is tried again for as long as it can be had',
  );
}

/** Something was stored: the next trouble is a new one. */
export function tellRecovered({ storage, log }: ActivityDeps): void {
  if (told.delete(storage)) log.info({}, 'outputs can be stored again');
}

/** Removes a file that no row names; one that stays is invisible to tenants, and the doctor lists it. */
export async function removeUnnamed({ storage, log }: ActivityDeps, path: string): Promise<void> {
  await storage.remove(path).catch((error: unknown) => {
    log.warn({ path, error: safeError(error) }, 'a file that no row names could not be removed');
  });
}
