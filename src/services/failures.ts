import { isDatabaseUnavailable } from '../db/index.ts';

/** True when a verb failed because a thing it needs is away, so that the same call may be made again. */
export function isTemporaryFailure(error: unknown): boolean {
  return isDatabaseUnavailable(error);
}
