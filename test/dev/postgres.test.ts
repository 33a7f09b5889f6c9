import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processIdentity } from '../../scripts/process-lock.mjs';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { type Postgres, startPostgres } from '../../src/dev/postgres.ts';

let folder: ReturnType<typeof temporaryFolder>;
let dataDir: string;
const started: Postgres[] = [];
beforeEach(() => {
  folder = temporaryFolder('postgres');
  dataDir = join(folder.path, "it's a b", 'data');
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop('immediate')));
  await folder.remove();
});

async function start(): Promise<Postgres> {
  const server = await startPostgres({ dataDir, forTests: true });
  started.push(server);
  return server;
}

async function query(server: Postgres, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

test('the first start makes a UTF-8 cluster in UTC for this machine only, its password readable by nobody else', async () => {
  const server = await start();
  expect(await query(server, 'SHOW server_version_num')).toEqual([
    { server_version_num: expect.stringMatching(/^18/) },
  ]);
  expect(await query(server, 'SHOW TimeZone')).toEqual([{ TimeZone: 'UTC' }]);
  expect(await query(server, 'SHOW server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  expect(await query(server, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  expect(statSync(join(dataDir, 'darkroom.password')).mode & 0o777).toBe(0o600);
  const wrong = new URL(server.url);
  wrong.password = 'wrong';
  await expect(query({ ...server, url: wrong.href }, 'SELECT 1')).rejects.toThrow(
    /password authentication failed/,
  );
});

test('a second start keeps the data', async () => {
  const first = await start();
  await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop('fast');
  const second = await start();
  expect(await query(second, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('after a kill -9 of the server the next start recovers what was committed', async () => {
  const first = await start();
  await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
  process.kill(first.pid, 'SIGKILL');
  await first.ended;
  await first.stop();
  const second = await start();
  expect(await query(second, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a folder in use is refused, naming who has it; what runs there is not disturbed', async () => {
  const first = await start();
  await expect(start()).rejects.toThrow(`in use by process ${process.pid}`);
  expect(await query(first, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a server whose owner died is stopped before the next one starts', async () => {
  const orphan = await start();
  await query(orphan, 'CREATE TABLE kept AS SELECT 42 AS answer');
  writeFileSync(`${dataDir}.lock`, JSON.stringify({ pid: 999_999_999, identity: 'gone' }));
  const next = await start();
  expect(await orphan.ended).toEqual({ code: 0, signal: null });
  expect(await query(next, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a pid file that now names another program is cleared, and that program left alone', async () => {
  const first = await start();
  const pidFile = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8');
  await first.stop();
  const innocent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  await once(innocent, 'spawn');
  writeFileSync(join(dataDir, 'postmaster.pid'), pidFile.replace(/^\d+/, String(innocent.pid)));
  const second = await start();
  expect(await query(second, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(processIdentity(innocent.pid!)).not.toBeNull();
  innocent.kill('SIGKILL');
});

test('a folder of another major version is refused, with what to do', async () => {
  await (await start()).stop();
  writeFileSync(join(dataDir, 'PG_VERSION'), '17\n');
  await expect(start()).rejects.toThrow(/made by PostgreSQL 17, this is 18.*--fresh/);
});
