import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parseScanCommand, type ScanConfig } from '../../src/storage/index.ts';
import { CONTENT, scan, source, temporaryFolder } from './scan.ts';

const TIMEOUT_MS = 15_000;
const FAILED = { kind: 'failed', reason: 'error' };

/** A real program as scanner. */
function scanner(script: string, timeoutMs = TIMEOUT_MS, ...args: readonly string[]): ScanConfig {
  return { kind: 'command', command: [process.execPath, '-e', script, ...args], timeoutMs };
}

/** Reads all, then ends with this code. */
const endsWith = (code: number): string => `process.stdin.resume().on('end', () => process.exit(${code}))`;

/** Killed, and perhaps not yet waited for by its parent, is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

async function pidIn(file: string): Promise<number> {
  await vi.waitFor(() => expect(existsSync(file) && readFileSync(file, 'utf8')).toMatch(/\d\n$/), 10_000);
  return Number(readFileSync(file, 'utf8'));
}

async function expectGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 10_000);
}

describe('SCAN_COMMAND', () => {
  it('is given the whole file on stdin, and 0 is clean', async () => {
    const seen = join(temporaryFolder(), 'seen');
    const script = `
      const hash = require('node:crypto').createHash('sha256');
      process.stdin.on('data', (chunk) => hash.update(chunk)).on('end', () =>
        require('node:fs').writeFileSync(process.argv[1], hash.digest('hex')));`;
    const file = source(CONTENT);
    const { verdict, problems } = await scan(scanner(script, TIMEOUT_MS, seen), file);
    expect({ verdict, problems }).toEqual({ verdict: { kind: 'clean' }, problems: [] });
    expect(readFileSync(seen, 'utf8')).toBe(createHash('sha256').update(CONTENT).digest('hex'));
    expect(file.open).toBe(0);
  });

  it('1 is infected, also before the file is read to its end', async () => {
    const infected = { verdict: { kind: 'infected' }, problems: [] };
    expect(await scan(scanner(endsWith(1)), source(CONTENT))).toEqual(infected);
    const early = `process.stdin.once('data', () => process.exit(1))`;
    const file = source(CONTENT, { bytes: 100_000_000 });
    expect(await scan(scanner(early), file)).toEqual(infected);
    expect(file.open).toBe(0);
    expect(file.given).toBeLessThan(10_000_000);
  });

  it.each([
    ['another code', endsWith(2), 'SCAN_COMMAND ended with 2 in place of 0 or 1'],
    ['a crash', `process.kill(process.pid, 'SIGKILL')`, 'SCAN_COMMAND was ended by SIGKILL'],
    [
      '0 before it has read the whole file',
      `process.stdin.destroy(); setTimeout(() => process.exit(0), 50)`,
      'SCAN_COMMAND ended before it had read the whole file',
    ],
  ])('%s is a failure, never a pass', async (_name, script, problem) => {
    const file = source(CONTENT);
    expect(await scan(scanner(script), file)).toEqual({ verdict: FAILED, problems: [problem] });
    expect(file.open).toBe(0);
  });

  it.each([
    ['is not there', ['/nonexistent/scanner'], 'ENOENT'],
    ['is no program', [import.meta.filename], 'EACCES'],
    ['has too many words', ['echo', 'x'.repeat(1_000_000)], 'E2BIG'],
  ] as const)('a program that %s is a failure', async (_name, command, code) => {
    const { verdict, problems } = await scan(
      { kind: 'command', command: [...command], timeoutMs: TIMEOUT_MS },
      source(CONTENT),
    );
    expect(verdict).toEqual(FAILED);
    expect(problems).toEqual([`SCAN_COMMAND could not be started: ${code}`]);
  });

  it('a hanging one is killed with all that it started, and the time limit is told', async () => {
    const folder = temporaryFolder();
    const script = 'echo $$ > "$0/parent"; sleep 1000 & echo $! > "$0/child"; wait';
    const command = ['/bin/sh', '-c', script, folder] as const;
    const hanging = scan({ kind: 'command', command, timeoutMs: 6_000 }, source(CONTENT));
    const pids = [await pidIn(join(folder, 'parent')), await pidIn(join(folder, 'child'))];
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(await hanging).toEqual({
      verdict: { kind: 'failed', reason: 'timeout' },
      problems: ['the scanner took longer than 6 s: raise SCAN_TIMEOUT_SECONDS or look why'],
    });
    for (const pid of pids) await expectGone(pid);
  });

  it('a scanner that does not read is no reason to hold the file', async () => {
    const file = source(CONTENT, { bytes: 1e12 });
    const { verdict } = await scan(scanner('setInterval(() => {}, 1000)', 1000), file);
    expect(verdict).toEqual({ kind: 'failed', reason: 'timeout' });
    expect(file.given).toBeLessThan(1_000_000);
    await vi.waitFor(() => expect(file.open).toBe(0), 30_000);
  });

  it('an abort ends it with its reason', async () => {
    const folder = temporaryFolder();
    const command = ['/bin/sh', '-c', 'echo $$ > "$0/pid"; exec sleep 1000', folder] as const;
    const stop = new AbortController();
    const file = source(CONTENT);
    const scanning = scan({ kind: 'command', command, timeoutMs: TIMEOUT_MS }, file, stop.signal);
    const pid = await pidIn(join(folder, 'pid'));
    stop.abort(new Error('worker stops'));
    await expect(scanning).rejects.toThrow('worker stops');
    await expectGone(pid);
    await vi.waitFor(() => expect(file.open).toBe(0), 30_000);
    await expect(scan(scanner(endsWith(0)), file, stop.signal)).rejects.toThrow('worker stops');
  });

  it('a file that can not be read, or is shorter than it should be, is a failure', async () => {
    const unreadable = { verdict: FAILED, problems: ['the stored file could not be read'] };
    expect(await scan(scanner(endsWith(0)), source(CONTENT, { fail: true }))).toEqual(unreadable);
    const gone = { ...source(CONTENT), read: async () => Promise.reject(new Error('not stored')) };
    expect(await scan(scanner(endsWith(0)), gone)).toEqual(unreadable);
    const short = { ...source(CONTENT), bytes: CONTENT.length + 1 };
    expect((await scan(scanner(endsWith(0)), short)).verdict).toEqual(FAILED);
  });

  it('a storage that hangs is cut by the time limit', async () => {
    const hangs = { ...source(CONTENT), read: async () => new Promise<never>(() => {}) };
    expect((await scan(scanner(endsWith(0), 500), hangs)).verdict).toEqual({
      kind: 'failed',
      reason: 'timeout',
    });
  });

  it('the scanner sees no setting of ours', async () => {
    vi.stubEnv('KEYRING', 'secret');
    const script = `process.stdin.resume().on('end', () =>
      process.exit(process.env.KEYRING === undefined && process.env.PATH === process.argv[1] ? 0 : 2))`;
    const config = scanner(script, TIMEOUT_MS, process.env['PATH'] ?? '');
    const { verdict } = await scan(config, source(CONTENT)).finally(() => vi.unstubAllEnvs());
    expect(verdict).toEqual({ kind: 'clean' });
  });
});

describe('parseScanCommand', () => {
  it.each([
    ['clamdscan --no-summary -', ['clamdscan', '--no-summary', '-']],
    ['  scan   - ', ['scan', '-']],
    ['["/opt/my scanner/scan", "-", ""]', ['/opt/my scanner/scan', '-', '']],
  ])('%j', (text, command) => {
    expect(parseScanCommand(text)).toEqual(command);
  });

  it.each([
    ['', 'names no program: write for example clamdscan --no-summary - or'],
    ['  ', 'names no program'],
    ['[]', 'names no program'],
    ['["", "-"]', 'names no program'],
    ['["a\\u0000b"]', 'names no program'],
    ['["a", 1]', 'is not a JSON array of texts: write for example'],
    ['["a"', 'is not a JSON array of texts'],
  ])('refuses %j', (text, message) => {
    expect(() => parseScanCommand(text)).toThrow(message);
  });
});
