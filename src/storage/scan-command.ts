import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import {
  failed,
  type ScanConfig,
  type ScannedFile,
  type ScanResult,
  timedOut,
  UNREADABLE,
} from './scan-result.ts';

const FORM = 'write for example clamdscan --no-summary - or ["/opt/my scanner/scan", "-"]';
/** A scanner sees no setting of ours, above all no key. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ'];
/** The convention of clamscan and clamdscan; anything else is a failure. */
const CLEAN = 0;
const INFECTED = 1;

/**
 * SCAN_COMMAND: a JSON array of a program and its arguments, or plain text that is split at spaces.
 * @throws with what to do
 */
export function parseScanCommand(text: string): readonly [string, ...string[]] {
  const [program = '', ...args] = text.trim().startsWith('[') ? parseArray(text) : text.trim().split(/\s+/);
  if (program === '' || [program, ...args].some((word) => word.includes('\0')))
    throw new Error(`names no program: ${FORM}`);
  return [program, ...args];
}

function parseArray(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every((word): word is string => typeof word === 'string')) return value;
  } catch {
    // Said below.
  }
  throw new Error(`is not a JSON array of texts: ${FORM}`);
}

/**
 * Runs the program once with the file on its stdin; its output is not read. Only exit code 0 after it took all bytes
 * is a pass. At the time limit, or when nobody waits any more, it is killed with all that it started.
 */
export async function scanByCommand(
  { command, timeoutMs }: Extract<ScanConfig, { kind: 'command' }>,
  file: ScannedFile,
  signal: AbortSignal,
): Promise<ScanResult> {
  let child: ChildProcess;
  try {
    child = start(command);
  } catch (error) {
    return failed(`SCAN_COMMAND ${notStarted(error)}`);
  }
  const end = endOf(child);
  const stop = new AbortController();
  const stopped = once(stop.signal, 'abort').then(() => 'stopped' as const);
  const abort = (): void => stop.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const outcome = await Promise.race([judge(feed(file, child.stdin, stop.signal), end, file), stopped]);
    signal.throwIfAborted();
    return outcome === 'stopped' ? timedOut(timeoutMs) : outcome;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    stop.abort();
    kill(child);
  }
}

function start([program, ...args]: readonly [string, ...string[]]): ChildProcess {
  return spawn(program, args, {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A group of its own, so that it can be killed as a whole.
    detached: true,
    env: Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])),
  });
}

function notStarted(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return `could not be started: ${code}`;
}

interface End {
  readonly code: number | null;
  /** Why it has no code. */
  readonly problem: string;
}

async function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, problem: notStarted(error) }));
    child.once('exit', (code, signal) => resolve({ code, problem: `was ended by ${signal}` }));
  });
}

/** Writes the file; returns how many bytes were taken, which are fewer where the program stopped reading, or null. */
async function feed(file: ScannedFile, stdin: Writable | null, signal: AbortSignal): Promise<number | null> {
  // EPIPE: it stopped reading. Its end says what that means.
  stdin?.on('error', () => {});
  let bytes = 0;
  try {
    for await (const chunk of await file.read()) {
      const isTaken = await new Promise<boolean>((resolve) => {
        if (!stdin || signal.aborted) resolve(false);
        else stdin.write(chunk, (error) => resolve(!error));
      });
      if (!isTaken) return bytes;
      bytes += chunk.length;
    }
  } catch {
    return null;
  }
  stdin?.end();
  return bytes;
}

async function judge(fed: Promise<number | null>, end: Promise<End>, file: ScannedFile): Promise<ScanResult> {
  const taken = await fed;
  if (taken === null) return UNREADABLE;
  const { code, problem } = await end;
  if (code === INFECTED) return { kind: 'infected' };
  if (code === null) return failed(`SCAN_COMMAND ${problem}`);
  if (code !== CLEAN) return failed(`SCAN_COMMAND ended with ${code} in place of ${CLEAN} or ${INFECTED}`);
  if (taken !== file.bytes) return failed('SCAN_COMMAND ended before it had read the whole file');
  return { kind: 'clean' };
}

/** A program that has ended is left alone: its number may be another's by now. */
function kill(child: ChildProcess): void {
  child.stdin?.destroy();
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
