/** What tells this life of a process from a later one with the same pid; null when no such process runs. */
export function processIdentity(pid: number): string | null;
/** The command line of a running process, arguments joined by spaces; null when it can't be read. */
export function commandLine(pid: number): string | null;
/** Takes a lock file for as long as this process lives; the lock of a dead process is taken over. */
export function takeLock(path: string): LockResult;
export type LockResult =
  | { readonly taken: true; release(): void }
  | { readonly taken: false; readonly pid: number };
