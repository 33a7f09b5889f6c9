import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const KEEPER = fileURLToPath(new URL('../../scripts/keeper.mjs', import.meta.url));
let pipe: Writable | undefined;

/**
 * Tells the keeper, a tiny process of its own session: it ends what we started and removes our temporary folders once
 * our end of the pipe is closed, which also happens when this process is killed.
 */
function tell(line: string): void {
  pipe ??= startKeeper();
  pipe.write(`${line}\n`);
}

function startKeeper(): Writable {
  const keeper = spawn(process.execPath, [KEEPER], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
  });
  keeper.unref();
  // Writing to a keeper that someone killed must not bring the stack down.
  keeper.stdin.on('error', () => {});
  (keeper.stdin as Writable & { unref?: () => void }).unref?.();
  return keeper.stdin;
}

/** Has this process ended with `signal` if we die first. */
export function keepWatch(pid: number, signal: NodeJS.Signals): void {
  tell(`+\t${pid}\t${signal}`);
}

/** The process has ended: its pid may belong to another one from now on. */
export function endWatch(pid: number): void {
  tell(`-\t${pid}`);
}

/** A new empty folder `darkroom-<purpose>-…` of the system's temporary folder, removed by `remove()` or when we die. */
export function temporaryFolder(purpose: string): { readonly path: string; remove(): Promise<void> } {
  const path = mkdtempSync(join(tmpdir(), `darkroom-${purpose}-`));
  // PostgreSQL runs as another user when we are root, and must be able to enter.
  chmodSync(path, 0o711);
  tell(`t\t${path}`);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Has a folder named `darkroom-…` removed if we die. */
export function keepTemporary(path: string): void {
  tell(`t\t${path}`);
}
