import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { openDb, type Db } from '../../src/db/index.ts';
import { migrate } from '../../src/db/migrate.ts';
import { type Child, logTail, startChild, waitUntil } from '../../src/dev/child.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { type Postgres, startPostgres } from '../../src/dev/postgres.ts';
import { printedUrls, providerEnvironment, simulatorEnvironment } from '../../src/dev/simulated-providers.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { startTemporal, type Temporal } from '../../src/dev/temporal.ts';
import { writeWorkflowBundle } from '../../src/worker/bundle-workflows.ts';
import { buildPrograms } from '../support/programs.ts';
import { SUBMITS_PER_SECOND } from './bare-queues.ts';
import { BareRuns } from './bare-runs.ts';
import { benchCatalogue } from './catalogue.ts';
import type { Say } from './progress.ts';
import { Receiver } from './receiver.ts';
import { Settlements } from './settlements.ts';
import { openTenant, type BenchTenant } from './tenants.ts';

export const SECRETS = {
  infro: {
    apiKey: 'bench-key',
    webhookSecret: `whsec_${Buffer.from('bench secret of infro').toString('base64')}`,
  },
};
export const KEYRING = `bench:${Buffer.alloc(32, 7).toString('base64')}`;
const PRELOAD = new URL('preload.mjs', import.meta.url).href;

/** A whole Darkroom as separate compiled processes, and what it is compared with, on one PostgreSQL and one Temporal. */
export interface BenchStack {
  readonly folder: string;
  readonly apiUrl: string;
  readonly simulatorUrl: string;
  readonly databaseUrl: string;
  /** A copy of it without rows, for what bare servers write. */
  readonly emptyDatabaseUrl: string;
  readonly db: Db;
  readonly client: Client;
  /** Of its folder, whose store is a file. */
  readonly temporalFolder: string;
  readonly api: Child;
  readonly worker: Child;
  readonly bare: BareRuns;
  readonly settlements: Settlements;
  readonly receiver: Receiver;
  /** Without and with an endpoint for webhooks. */
  readonly quiet: BenchTenant;
  readonly told: BenchTenant;
  /** Of the processes whose work is measured, by name. */
  readonly pids: Readonly<Record<string, number>>;
  /** Where API and worker leave the statements that they have noted, see preload.mjs. */
  readonly statements: Readonly<Record<'api' | 'worker', string>>;
  /** Tells a person who waits. */
  readonly say: Say;
  /** @param graceMs how long API and worker may take for it; a profile is written in that time */
  stop(graceMs?: number): Promise<void>;
}

export interface StackOptions {
  readonly renderMs: number;
  /** A folder for CPU profiles of API, worker and bare worker. */
  readonly profile: string | null;
  readonly say: Say;
}

const GRACE_MS = 5_000;
const PROFILE_MS = 60_000;

type End = (graceMs: number) => Promise<unknown>;

/** Starts everything; what has started is ended again when something fails. */
export async function startBenchStack(options: StackOptions): Promise<BenchStack> {
  const stops: End[] = [];
  const stop = async (graceMs = options.profile === null ? GRACE_MS : PROFILE_MS) => {
    for (let end = stops.pop(); end !== undefined; end = stops.pop())
      await end(graceMs).catch(() => undefined);
  };
  try {
    return { ...(await start(options, (end) => stops.push(end))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(
  { renderMs, profile, say }: StackOptions,
  atEnd: (end: End) => void,
): Promise<Omit<BenchStack, 'stop'>> {
  const folder = temporaryFolder('bench');
  atEnd(() => folder.remove());
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: '' }, say);
  if (source.kind !== 'binary') throw new Error('The bench starts a Temporal server of its own.');
  const bundles = { ours: join(folder.path, 'workflows.js'), bare: join(folder.path, 'bare.js') };
  say('building the programs, starting PostgreSQL and Temporal');
  const [postgres, temporal, programs] = await Promise.all([
    // Not `forTests`: fsync stays on.
    startPostgres({ dataDir: join(folder.path, 'postgres') }).then((server: Postgres) => {
      atEnd(() => server.stop('immediate'));
      return server;
    }),
    startTemporal({ binary: source.path, dataDir: join(folder.path, 'temporal') }).then(
      (server: Temporal) => {
        atEnd(() => server.stop('immediate'));
        return server;
      },
    ),
    buildPrograms(),
    writeWorkflowBundle(bundles.ours, new DefaultLogger('WARN')),
    bundleBare(bundles.bare),
  ]);
  atEnd(async () => rmSync(programs, { recursive: true, force: true }));
  await migrate(postgres.url);
  const emptyDatabaseUrl = await copyDatabase(postgres.url);
  const logs = join(folder.path, 'logs');
  const receiver = await Receiver.start();
  atEnd(() => receiver.stop());
  const simulators = await startSimulator(programs, logs, renderMs);
  atEnd(() => simulators.child.stop(2_000));

  const catalogue = join(folder.path, 'catalogue.json');
  await writeFile(catalogue, JSON.stringify(benchCatalogue()));
  const [port = 0] = await freePorts(1);
  const apiUrl = `http://127.0.0.1:${port}`;
  const statements = { api: join(folder.path, 'api.sql'), worker: join(folder.path, 'worker.sql') };
  const providers = providerEnvironment({ infro: simulators.url }, SECRETS);
  const env: NodeJS.ProcessEnv = {
    ...withoutSettings(process.env),
    PORT: String(port),
    PUBLIC_URL: apiUrl,
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_CONFIG_FILE: await emptyProfile(folder.path),
    ...providers,
    PROVIDER_INFRO_SUBMITS_PER_SECOND: String(SUBMITS_PER_SECOND),
    NET_ALLOW: [providers['NET_ALLOW'], new URL(receiver.url).host].join(','),
    STORAGE_URL: `file:${join(folder.path, 'outputs')}`,
    KEYRING,
    CATALOGUE_FILE: catalogue,
    WORKFLOW_BUNDLE: bundles.ours,
    LOG_LEVEL: 'info',
  };
  const program = async (name: 'api' | 'worker') => {
    const child = await startChild({
      name,
      command: process.execPath,
      args: [...profileArgs(profile, name), '--import', PRELOAD, join(programs, name, 'main.js')],
      env: {
        ...env,
        BENCH_STATEMENTS: statements[name],
      },
      logFile: join(logs, `${name}.log`),
      stopSignal: name === 'api' ? 'SIGINT' : 'SIGTERM',
    });
    atEnd((graceMs) => child.stop(graceMs));
    await untilLogged(child, new RegExp(`${name} ready`));
    return child;
  };
  say('starting API, worker and bare worker');
  const [api, worker, bare] = await Promise.all([
    program('api'),
    program('worker'),
    BareRuns.start({
      address: temporal.address,
      bundle: bundles.bare,
      execArgv: [...profileArgs(profile, 'bare'), '--import', PRELOAD],
      renderMs,
    }).then((runs) => {
      atEnd((graceMs) => runs.stop(graceMs));
      return runs;
    }),
  ]);
  const db = openDb(postgres.url, { poolSize: 4 });
  atEnd(() => db.close());
  const connection = Connection.lazy({ address: temporal.address });
  atEnd(() => connection.close());
  const settlements = await Settlements.listen(postgres.url);
  atEnd(() => settlements.close());
  return {
    folder: folder.path,
    apiUrl,
    simulatorUrl: simulators.url,
    databaseUrl: postgres.url,
    emptyDatabaseUrl,
    db,
    client: new Client({ connection }),
    temporalFolder: join(folder.path, 'temporal'),
    api,
    worker,
    bare,
    settlements,
    receiver,
    quiet: await openTenant(db, apiUrl, null),
    told: await openTenant(db, apiUrl, receiver.url),
    pids: {
      api: api.pid,
      worker: worker.pid,
      bare_worker: bare.pid,
      temporal: temporal.pid,
      postgres: postgres.pid,
      simulator: simulators.child.pid,
      receiver: receiver.pid,
      bench: process.pid,
    },
    statements,
    say,
  };
}

/** Before anybody else is connected: a database in use can't be copied. */
async function copyDatabase(databaseUrl: string): Promise<string> {
  const [administer, copy] = [new URL(databaseUrl), new URL(databaseUrl)];
  const template = administer.pathname.slice(1);
  administer.pathname = '/postgres';
  copy.pathname = '/bare';
  const client = new pg.Client({ connectionString: administer.href });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE bare TEMPLATE "${template}"`);
  } finally {
    await client.end();
  }
  return copy.href;
}

function profileArgs(folder: string | null, name: string): string[] {
  if (folder === null) return [];
  const own = join(folder, name);
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  return ['--cpu-prof', `--cpu-prof-dir=${own}`];
}

async function bundleBare(file: string): Promise<void> {
  const workflowsPath = fileURLToPath(new URL('bare-workflow.ts', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  await writeFile(file, code);
}

/** A profile or TLS setting of this user is for another server. */
async function emptyProfile(folder: string): Promise<string> {
  const file = join(folder, 'temporal.toml');
  await writeFile(file, '[profile.default]\n');
  return file;
}

/** The environment without settings of a Darkroom, a provider or Temporal that this user may have. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ours =
    /^(PROVIDER_|TEMPORAL_|OTEL_|SCAN_|DATABASE_|CATALOGUE_FILE|METRICS_PORT|NODE_OPTIONS|NODE_ENV|WORKER_)/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)));
}

async function startSimulator(
  programs: string,
  logs: string,
  renderMs: number,
): Promise<{ readonly child: Child; readonly url: string }> {
  let output = '';
  const child = await startChild({
    name: 'simulator',
    command: process.execPath,
    args: [join(programs, 'simulators', 'main.js'), '--render-ms', String(renderMs), '--only', 'infro'],
    env: { ...process.env, ...simulatorEnvironment(SECRETS) },
    logFile: join(logs, 'simulator.log'),
    onStdout: (text) => {
      output += text;
    },
  });
  const url = () => printedUrls(output)['infro'];
  const spoke = await waitUntil(async () => url() !== undefined, {
    timeoutMs: 60_000,
    stopped: () => !child.isRunning(),
  });
  if (!spoke) throw new Error(`The simulator did not start:\n${await logTail(child.logFile)}`);
  return { child, url: url() ?? '' };
}

async function untilLogged(child: Child, words: RegExp): Promise<void> {
  const ready = await waitUntil(async () => words.test(await logTail(child.logFile)), {
    timeoutMs: 120_000,
    stopped: () => !child.isRunning(),
  });
  if (!ready) throw new Error(`${child.name} did not start:\n${await logTail(child.logFile)}`);
}
