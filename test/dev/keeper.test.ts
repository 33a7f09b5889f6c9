import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { processIdentity } from '../../scripts/process-lock.mjs';
import { waitUntil } from '../../src/dev/child.ts';

const KEEPER = new URL('../../src/dev/keeper.ts', import.meta.url).href;
const CHILD = new URL('../../src/dev/child.ts', import.meta.url).href;

test('what a killed process had started ends, and its temporary folder is removed', async () => {
  const code = `
    const { temporaryFolder } = await import(${JSON.stringify(KEEPER)});
    const { startChild } = await import(${JSON.stringify(CHILD)});
    const { path } = temporaryFolder('keeper');
    const child = await startChild({ name: 'sleeper', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'],
      env: process.env, logFile: path + '/logs/sleeper.log' });
    console.log(JSON.stringify({ path, pid: child.pid })); setInterval(() => {}, 1e6);`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
  const { path, pid } = JSON.parse(chunk.toString()) as { path: string; pid: number };
  expect(processIdentity(pid)).not.toBeNull();
  expect(existsSync(path)).toBe(true);

  parent.kill('SIGKILL');
  const isClean = () => Promise.resolve(processIdentity(pid) === null && !existsSync(path));
  expect(await waitUntil(isClean, { timeoutMs: 60_000 })).toBe(true);
});
