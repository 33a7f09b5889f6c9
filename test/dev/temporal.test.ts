import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processIdentity } from '../../scripts/process-lock.mjs';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { startTemporal, type Temporal } from '../../src/dev/temporal.ts';

let folder: ReturnType<typeof temporaryFolder>;
let dataDir: string;
const started: Temporal[] = [];
beforeEach(() => {
  folder = temporaryFolder('temporal server');
  dataDir = join(folder.path, 'a b');
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop('immediate')));
  await folder.remove();
});

async function start(): Promise<Temporal> {
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: '' }, () => {});
  if (source.kind !== 'binary') throw new Error('a binary was expected');
  const server = await startTemporal({ binary: source.path, dataDir });
  started.push(server);
  return server;
}

async function withClient<T>(server: Temporal, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

test('it serves, with its Web UI, and keeps its runs over a restart and a kill', async () => {
  const first = await start();
  expect((await fetch(first.uiUrl)).status).toBe(200);
  await withClient(first, (client) =>
    client.workflow.start('nothing', { taskQueue: 'nobody', workflowId: 'kept', args: [] }),
  );
  await first.stop();
  const second = await start();
  process.kill(second.pid, 'SIGKILL');
  await second.ended;
  await second.stop();
  const third = await start();
  const { status } = await withClient(third, (client) => client.workflow.getHandle('kept').describe());
  expect(status.name).toBe('RUNNING');
});

test('a folder that is in use is refused, naming who has it', async () => {
  await start();
  await expect(start()).rejects.toThrow(`in use by process ${process.pid}`);
});

test('a server left by an unclean stop is ended first', async () => {
  const left = await start();
  const pidFile = JSON.stringify({ pid: left.pid, identity: processIdentity(left.pid) });
  // Its owner's lock is gone with the owner.
  writeFileSync(join(dataDir, 'temporal.lock'), JSON.stringify({ pid: 999_999_999, identity: 'gone' }));
  writeFileSync(join(dataDir, 'temporal.pid'), pidFile);
  const next = await start();
  expect(await left.ended).toBeDefined();
  expect(next.pid).not.toBe(left.pid);
});

test('a process that only has the pid of an old server is left alone', async () => {
  const innocent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  await once(innocent, 'spawn');
  await (await start()).stop();
  writeFileSync(
    join(dataDir, 'temporal.pid'),
    JSON.stringify({ pid: innocent.pid, identity: 'an earlier life' }),
  );
  await start();
  expect(processIdentity(innocent.pid!)).not.toBeNull();
  innocent.kill('SIGKILL');
});
