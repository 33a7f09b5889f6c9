import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { type Child, logTail, startChild, waitUntil } from '../../src/dev/child.ts';
import { freePort } from '../../src/dev/ports.ts';
import { type Postgres, startPostgres } from '../../src/dev/postgres.ts';
import { printedUrls, SIMULATED, simulatorEnvironment } from '../../src/dev/simulated-providers.ts';
import { startTemporal, type Temporal } from '../../src/dev/temporal.ts';
import type { SimulatorSecrets } from '../../src/dev/data-folder.ts';
import { variablePrefix } from '../../src/providers/configuration.ts';
import type { Link } from './proxy.ts';

const SIMULATORS_MS = 60_000;
/** A render: long enough that a fault can fall into it. */
const RENDER_MS = 900;

/**
 * Under heavy load the development server may fail for ever, every statement with `interrupted (9)`: its one connection to
 * SQLite is left in a transaction that was cancelled. No crash of this run lasts for so many probes.
 */
const PROBE_EVERY_MS = 5_000;
const PROBES_FAILED = 6;

/** A server that is crashed and started again; the links before it follow it to its port. */
export interface Crashable {
  /** Ends it without notice, and starts it again after so long. */
  crash(how: 'immediate' | 'kill', downMs: number): Promise<void>;
  stop(): Promise<void>;
}

export interface Database extends Crashable {
  /** With the port of a link. */
  urlBy(link: Link): string;
}

/** PostgreSQL with everything on that makes a commit durable. */
export async function openPostgres(dataDir: string, logs: string, links: readonly Link[]): Promise<Database> {
  const start = async (port: number) => {
    const options = { dataDir: join(dataDir, 'postgres'), logFile: join(logs, 'postgres.log'), port };
    const started = await startPostgres(options);
    for (const link of links) link.target(started.port);
    return started;
  };
  let server: Postgres = await start(await freePort());
  return {
    urlBy({ port }) {
      const url = new URL(server.url);
      url.port = String(port);
      return url.href;
    },
    async crash(how, downMs) {
      if (how === 'kill') process.kill(server.pid, 'SIGKILL');
      await server.stop('immediate');
      await sleep(downMs);
      server = await start(server.port);
    },
    stop: () => server.stop('immediate'),
  };
}

/** Temporal with a store on the disk; started again where it is stuck, as a supervisor with a probe would do. */
export async function openTemporal(
  binary: string,
  dataDir: string,
  logs: string,
  links: readonly Link[],
  say: (line: string) => void,
): Promise<Crashable> {
  const start = async (port: number) => {
    const options = { dataDir: join(dataDir, 'temporal'), logFile: join(logs, 'temporal.log') };
    const started = await startTemporal({ binary, port, ...options });
    for (const link of links) link.target(portOf(started));
    return started;
  };
  let server: Temporal = await start(await freePort());
  let turn: Promise<void> = Promise.resolve();
  const startAgain = async (downMs: number, before: Promise<void>) => {
    await before.catch(() => {});
    await server.stop('immediate');
    await sleep(downMs);
    server = await start(portOf(server));
  };
  const crash = (downMs: number) => (turn = startAgain(downMs, turn));
  let failed = 0;
  const look = async () => {
    failed = (await canReadStore(server.address)) ? 0 : failed + 1;
    if (failed < PROBES_FAILED) return;
    failed = 0;
    say('Temporal cannot read its store any more: it is started again');
    await crash(0).catch(() => {});
  };
  const probe = setInterval(() => void look(), PROBE_EVERY_MS);
  return {
    crash: (_how, downMs) => crash(downMs),
    async stop() {
      clearInterval(probe);
      await turn.catch(() => {});
      await server.stop('immediate');
    },
  };
}

/** Namespaces are read from the store itself, past all that the server remembers. */
async function canReadStore(address: string): Promise<boolean> {
  const connection = Connection.lazy({ address });
  try {
    await connection.withDeadline(Date.now() + PROBE_EVERY_MS, () =>
      connection.workflowService.listNamespaces({}),
    );
    return true;
  } catch {
    return false;
  } finally {
    await connection.close().catch(() => {});
  }
}

function portOf({ address }: Temporal): number {
  return Number(address.split(':')[1]);
}

/** All simulators in one process, each known to the world by its link. @returns their own URLs by name */
export async function openSimulators(
  programs: string,
  logs: string,
  secrets: Readonly<Record<string, SimulatorSecrets>>,
  links: Readonly<Record<string, Link>>,
): Promise<{ readonly urls: Readonly<Record<string, string>>; readonly child: Child }> {
  let output = '';
  const publicUrls = SIMULATED.map((name) => [
    `${variablePrefix(name).replace(/^PROVIDER_/, 'SIM_')}PUBLIC_URL`,
    `http://127.0.0.1:${links[name]?.port}`,
  ]);
  const child = await startChild({
    name: 'simulators',
    command: process.execPath,
    args: [
      join(programs, 'simulators', 'main.js'),
      '--render-ms',
      String(RENDER_MS),
      ...SIMULATED.flatMap((name) => ['--only', name]),
    ],
    env: { ...process.env, ...simulatorEnvironment(secrets), ...Object.fromEntries(publicUrls) },
    logFile: join(logs, 'simulators.log'),
    onStdout: (text) => {
      output += text;
    },
  });
  const haveSpoken = () => Promise.resolve(Object.keys(printedUrls(output)).length === SIMULATED.length);
  const options = { timeoutMs: SIMULATORS_MS, stopped: () => !child.isRunning() };
  if (!(await waitUntil(haveSpoken, options))) {
    throw new Error(`The simulators did not start. The end of their log:\n${await logTail(child.logFile)}`);
  }
  const urls = printedUrls(output);
  for (const [name, url] of Object.entries(urls)) links[name]?.target(Number(new URL(url).port));
  return { urls, child };
}
