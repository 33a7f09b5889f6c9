import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { endWatch, keepWatch } from './keeper.ts';

export interface ChildOptions {
  /** For messages: `api`, `Temporal`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Run as another user; only root can. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Takes stdout (unless `onStdout`) and stderr; appended to. */
  readonly logFile: string;
  readonly onStdout?: (text: string) => void;
  /** The signal that asks it to stop; by default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves when it has ended, never rejects. */
  readonly ended: Promise<ChildEnd>;
  isRunning(): boolean;
  /** Asks it to stop, then kills it after `graceMs`; resolves when it has ended. */
  stop(graceMs?: number, signal?: NodeJS.Signals): Promise<ChildEnd>;
}

/**
 * Starts a process in a group of its own, so that Ctrl-C reaches only us and we stop things in order; it ends with us
 * even when we are killed (keeper.ts).
 * @throws Error when the command can't be started, naming it
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', options.onStdout === undefined ? log : 'pipe', log],
    detached: process.platform !== 'win32',
    windowsHide: true,
    ...options.user,
  });
  closeSync(log);
  let running = true;
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false;
      if (child.pid !== undefined) endWatch(child.pid);
      resolve({ code, signal });
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => {
      reject(new Error(`${options.name} did not start (${options.command}): ${error.message}`));
    });
  });
  const pid = child.pid!;
  const stopSignal = options.stopSignal ?? 'SIGTERM';
  if (running) keepWatch(pid, stopSignal);
  if (options.onStdout !== undefined) {
    child.stdout?.setEncoding('utf8').on('data', options.onStdout);
  }
  return {
    name: options.name,
    pid,
    logFile: options.logFile,
    ended,
    isRunning: () => running,
    async stop(graceMs = 5_000, signal = stopSignal) {
      if (running) child.kill(signal);
      const timer = setTimeout(() => running && child.kill('SIGKILL'), graceMs);
      return ended.finally(() => clearTimeout(timer));
    },
  };
}

/** The last lines of a log file, for an error message; empty when there are none. */
export async function logTail(logFile: string, lines = 15): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** Waits until `ready` answers true, asking every `everyMs`; false when `timeoutMs` is over or `stopped()` holds. */
export async function waitUntil(
  ready: () => Promise<boolean>,
  options: { readonly timeoutMs: number; readonly everyMs?: number; readonly stopped?: () => boolean },
): Promise<boolean> {
  const until = performance.now() + options.timeoutMs;
  while (performance.now() < until && options.stopped?.() !== true) {
    if (await ready()) return true;
    await new Promise((done) => setTimeout(done, options.everyMs ?? 25));
  }
  return false;
}
