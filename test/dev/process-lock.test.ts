import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processIdentity, takeLock } from '../../scripts/process-lock.mjs';
import { temporaryFolder } from '../../src/dev/keeper.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder('lock');
});
afterEach(() => folder.remove());

const LOCK_MODULE = new URL('../../scripts/process-lock.mjs', import.meta.url).href;

/** Another process that tries to take the lock, says how it went, and holds it until it is killed. */
async function contender(path: string) {
  const code = `const { takeLock } = await import(${JSON.stringify(LOCK_MODULE)});
    console.log(JSON.stringify(takeLock(${JSON.stringify(path)}))); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, result: JSON.parse(chunk.toString()) as { taken: boolean; pid?: number } };
}

async function kill({ child }: Awaited<ReturnType<typeof contender>>): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('one process holds a lock; it is free again after release', () => {
  const path = join(folder.path, 'lock');
  const first = takeLock(path);
  expect(first.taken).toBe(true);
  expect(takeLock(path)).toEqual({ taken: false, pid: process.pid });
  if (first.taken) first.release();
  expect(readdirSync(folder.path)).toEqual([]);
  expect(takeLock(path).taken).toBe(true);
});

test('the lock of a killed process is taken over, that of a living one is not', async () => {
  const path = join(folder.path, 'lock');
  const other = await contender(path);
  expect(other.result.taken).toBe(true);
  expect(takeLock(path)).toEqual({ taken: false, pid: other.child.pid });
  await kill(other);
  expect(takeLock(path).taken).toBe(true);
});

test('a pid that was given to another process does not hold the lock', () => {
  const path = join(folder.path, 'lock');
  writeFileSync(path, JSON.stringify({ pid: process.ppid, identity: 'an earlier life', nonce: 'x' }));
  expect(processIdentity(process.ppid)).not.toBeNull();
  expect(takeLock(path).taken).toBe(true);
});

test('a lock file that was half written holds nothing', () => {
  const path = join(folder.path, 'lock');
  writeFileSync(path, '{"pid": 1');
  expect(takeLock(path).taken).toBe(true);
});

test('of many that find a stale lock at once exactly one takes it over', async () => {
  const path = join(folder.path, 'lock');
  writeFileSync(path, JSON.stringify({ pid: 999_999_999, identity: 'gone', nonce: 'x' }));
  const all = await Promise.all(Array.from({ length: 6 }, () => contender(path)));
  expect(all.filter(({ result }) => result.taken)).toHaveLength(1);
  await Promise.all(all.map(kill));
  expect(existsSync(path)).toBe(true);
});
