/**
 * The storage itself failed: full, denied, away. Nothing of the file is left, and a later attempt under a new path may do
 * better. The message says what to do and names no file; `code` is the storage's own (ENOSPC, AccessDenied, …).
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: string | null;
  constructor(message: string, code: string | null, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** What every driver says of these. */
export const FAILURE_TEXTS = {
  full: 'the storage is full: free space or enlarge it; the file is fetched again',
  quota: 'the storage quota is used up: raise it or free space; the file is fetched again',
  exists: 'a file is already stored under this path: each attempt needs a path of its own',
  other: 'the file cannot be stored',
  missing: 'no file is stored under this path: it was never stored or is deleted',
  range: 'range needs whole numbers with 0 <= start <= end',
} as const;

/** The code of an error of Node.js, null without one. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
