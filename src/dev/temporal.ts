import { mkdirSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { processIdentity, takeLock } from '../../scripts/process-lock.mjs';
import { type Child, logTail, startChild, waitUntil } from './child.ts';
import { freePort, isListening } from './ports.ts';

const SEARCH_ATTRIBUTES = ['TenantId', 'Provider', 'Model', 'GenerationState'];

/**
 * WAL makes the store twice as fast. Without the poll rate every task of a steady load waits about 50 ms. Only the new
 * matcher knows priorities.
 */
const SERVER_OPTIONS = [
  ...['journal_mode=wal', 'synchronous=normal'].flatMap((value) => ['--sqlite-pragma', value]),
  ...[
    'history.transferProcessorMaxPollRPS=1000',
    'system.enableEagerWorkflowStart=true',
    'system.enableActivityEagerExecution=true',
    'matching.useNewMatcher=true',
  ].flatMap((value) => ['--dynamic-config-value', value]),
  ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
];

export interface TemporalOptions {
  /** The Temporal CLI, see `resolveTemporal`. */
  readonly binary: string;
  /** Holds its store, pid file and lock. */
  readonly dataDir: string;
  /** Taken if they are free, else others. */
  readonly port?: number;
  readonly uiPort?: number;
  readonly logFile?: string;
}

export interface Temporal {
  /** host:port of the gRPC service, namespace `default`. */
  readonly address: string;
  /** The Web UI, without a slash at the end. */
  readonly uiUrl: string;
  readonly pid: number;
  /** Resolves when the server has ended, wanted or not. */
  readonly ended: Child['ended'];
  /** `immediate` kills it: its store keeps what was written. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

const TRIES = 4;

/**
 * Starts Temporal's development server with its Web UI on 127.0.0.1 and waits until it answers; a server that an
 * unclean stop left on this folder is ended first.
 * @throws Error when another running instance has the folder, or with the end of the log when it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  mkdirSync(options.dataDir, { recursive: true });
  const lock = takeLock(join(options.dataDir, 'temporal.lock'));
  if (!lock.taken) {
    throw new Error(
      `The data folder ${options.dataDir} is in use by process ${lock.pid}. Stop that one first, or give another folder.`,
    );
  }
  try {
    await endLeftover(pidFile(options));
    return await run(options, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

const pidFile = (options: TemporalOptions): string => join(options.dataDir, 'temporal.pid');

function serverArgs(dataDir: string, port: number, uiPort: number): string[] {
  const where = ['--ip', '127.0.0.1', '--port', String(port), '--ui-port', String(uiPort)];
  const store = ['--db-filename', join(dataDir, 'temporal.sqlite')];
  return ['server', 'start-dev', ...where, ...store, '--log-level', 'error', ...SERVER_OPTIONS];
}

async function run(options: TemporalOptions, release: () => void): Promise<Temporal> {
  const logFile = options.logFile ?? join(options.dataDir, 'temporal.log');
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const port = await freePort(attempt === 1 ? options.port : undefined);
    const uiPort = await freePort(attempt === 1 ? options.uiPort : undefined);
    const child = await startChild({
      name: 'Temporal',
      command: options.binary,
      args: serverArgs(options.dataDir, port, uiPort),
      env: process.env,
      logFile,
    });
    await writeFile(
      pidFile(options),
      JSON.stringify({ pid: child.pid, identity: processIdentity(child.pid) }),
    );
    const address = `127.0.0.1:${port}`;
    const ready = await waitUntil(async () => (await isListening(port)) && (await answers(address)), {
      timeoutMs: 120_000,
      stopped: () => !child.isRunning(),
    });
    if (ready) {
      return {
        address,
        uiUrl: `http://127.0.0.1:${uiPort}`,
        pid: child.pid,
        ended: child.ended,
        async stop(mode = 'fast') {
          await child.stop(5_000, mode === 'fast' ? 'SIGTERM' : 'SIGKILL');
          await rm(pidFile(options), { force: true });
          release();
        },
      };
    }
    await child.stop(1_000);
    if (!/address already in use|can't set .*port/i.test(await logTail(logFile))) break;
  }
  throw new Error(
    `The Temporal server (${options.binary}) did not start. The end of its log:\n${await logTail(logFile)}`,
  );
}

/** True when the namespace and our search attributes are there; the server registers them after it listens. */
async function answers(address: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2_000 });
    const namespace = 'default';
    await connection.workflowService.describeNamespace({ namespace });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return SEARCH_ATTRIBUTES.every((name) => name in customAttributes);
  } catch {
    return false;
  } finally {
    await connection?.close().catch(() => {});
  }
}

/** Ends the server named in a pid file whose owner is gone; start time and boot prove that it is still that process. */
async function endLeftover(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text === '' || process.platform === 'win32') return;
  const { pid, identity } = parsePidFile(text);
  const isSame = () => identity !== null && processIdentity(pid) === identity;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isSame()) break;
    process.kill(pid, signal);
    await waitUntil(() => Promise.resolve(!isSame()), { timeoutMs: 5_000 });
  }
  await rm(path, { force: true });
}

function parsePidFile(text: string): { pid: number; identity: string | null } {
  try {
    const { pid, identity } = JSON.parse(text) as { pid?: unknown; identity?: unknown };
    if (typeof pid === 'number' && typeof identity === 'string') return { pid, identity };
  } catch {
    // A pid file that was half written names nobody.
  }
  return { pid: 0, identity: null };
}
