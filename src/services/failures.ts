import { isDatabaseUnavailable } from '../db/index.ts';

/** True when a verb failed because a thing it needs is away, so that the same call may be made again. */
export function isTemporaryFailure(error: unknown): boolean {
  return isDatabaseUnavailable(error);
}

/** The storage could not be read or written; the cause says why, for operators. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
  constructor(cause: unknown) {
    super('the storage is not reachable', { cause });
  }
}
