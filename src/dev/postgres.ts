import { mkdirSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import pg from 'pg';
import { takeLock } from '../../scripts/process-lock.mjs';
import { type Child, logTail, startChild, waitUntil } from './child.ts';
import { keepTemporary } from './keeper.ts';
import { freePort } from './ports.ts';
import { postgresBinaries, type PostgresBinaries, postgresUser, realDataDir } from './postgres-binaries.ts';
import { clearLeftover, clusterPassword, ensureCluster } from './postgres-cluster.ts';

export interface PostgresOptions {
  readonly dataDir: string;
  /** Faster and unsafe: nothing survives a power cut. A killed process still loses nothing. */
  readonly forTests?: boolean;
  /** Taken if it is free, else another one. */
  readonly port?: number;
  /** Made when it is missing; by default `darkroom`. */
  readonly database?: string;
  readonly logFile?: string;
}

export interface Postgres {
  /** postgresql://…: the database, as its owner. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server has ended, wanted or not. */
  readonly ended: Child['ended'];
  /** `fast` ends sessions and writes all; `immediate` leaves recovery to the next start. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

const FOR_TESTS = ['fsync=off', 'full_page_writes=off'].flatMap((value) => ['-c', value]);
const TRIES = 5;

/**
 * Starts an embedded PostgreSQL 18 on a data folder, which is made on the first run and reused after; what an unclean
 * stop left is cleared.
 * @throws Error when another running instance has the folder, or with the end of the log when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const dataDir = realDataDir(options.dataDir);
  mkdirSync(dirname(dataDir), { recursive: true });
  if (options.forTests === true && dataDir !== resolve(options.dataDir)) keepTemporary(dirname(dataDir));
  const lock = takeLock(`${dataDir}.lock`);
  if (!lock.taken) {
    throw new Error(
      `The data folder ${options.dataDir} is in use by process ${lock.pid}. Stop that one first, or give another folder.`,
    );
  }
  try {
    const user = postgresUser();
    const programs = await postgresBinaries(user);
    // The server, which may be another user, must reach its folder.
    if (user !== undefined) await chmod(dirname(dataDir), 0o711);
    await clearLeftover(dataDir);
    await ensureCluster(dataDir, programs, user, options.forTests ?? false);
    return await run(dataDir, programs, options, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function run(
  dataDir: string,
  programs: PostgresBinaries,
  options: PostgresOptions,
  release: () => void,
): Promise<Postgres> {
  const password = await clusterPassword(dataDir);
  const logFile = options.logFile ?? `${dataDir}.log`;
  const user = postgresUser();
  let tail = '';
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const port = await freePort(attempt === 1 ? options.port : undefined);
    const url = (database: string) => `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
    const child = await startChild({
      name: 'PostgreSQL',
      command: programs.postgres,
      args: ['-D', dataDir, '-p', String(port), ...(options.forTests === true ? FOR_TESTS : [])],
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      cwd: dataDir,
      ...(user === undefined ? {} : { user }),
      logFile,
      // SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every session.
      stopSignal: 'SIGINT',
    });
    const ready = await waitUntil(() => answers(url('postgres')), {
      timeoutMs: 120_000,
      stopped: () => !child.isRunning(),
    });
    if (ready) {
      const database = options.database ?? 'darkroom';
      await ensureDatabase(url('postgres'), database);
      return {
        url: url(database),
        port,
        pid: child.pid,
        ended: child.ended,
        async stop(mode = 'fast') {
          await child.stop(10_000, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
          release();
        },
      };
    }
    await child.stop(5_000, 'SIGQUIT');
    tail = await logTail(logFile);
    // A port that was just taken, or processes of a killed server that are still ending.
    if (!/could not bind|Address already in use|pre-existing shared memory/.test(tail)) break;
    await new Promise((done) => setTimeout(done, 200 * attempt));
  }
  throw new Error(`PostgreSQL did not start on ${dataDir}. The end of its log:\n${tail}`);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

/** Removes a data folder that nothing uses, wherever it really lies. */
export async function removePostgresData(dataDir: string): Promise<void> {
  await rm(realDataDir(dataDir), { recursive: true, force: true });
}
