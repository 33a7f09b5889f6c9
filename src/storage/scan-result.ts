import type { FileScan, ScanVerdict } from './types.ts';

/** Who looks at files before anybody may see them. */
export type ScanConfig =
  | {
      readonly kind: 'command';
      /** A program and its arguments; no shell is between. */
      readonly command: readonly [program: string, ...args: string[]];
      readonly timeoutMs: number;
    }
  | { readonly kind: 'url'; readonly url: string; readonly timeoutMs: number };

export type ScannedFile = Parameters<FileScan>[0];

/** A verdict; a failed one with what the operator should know of it, without names, URLs or paths. */
export type ScanResult =
  | Exclude<ScanVerdict, { kind: 'failed' }>
  | { readonly kind: 'failed'; readonly reason: 'timeout' | 'error'; readonly problem: string };

export const UNREADABLE = failed('the stored file could not be read');

export function failed(problem: string): ScanResult {
  return { kind: 'failed', reason: 'error', problem };
}

export function timedOut(timeoutMs: number): ScanResult {
  const problem = `the scanner took longer than ${timeoutMs / 1000} s: raise SCAN_TIMEOUT_SECONDS or look why`;
  return { kind: 'failed', reason: 'timeout', problem };
}
