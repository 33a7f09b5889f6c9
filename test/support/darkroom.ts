import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { inject, vi } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { startChild, waitUntil } from '../../src/dev/child.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { freePorts } from '../../src/dev/ports.ts';
import {
  printedUrls,
  providerEnvironment,
  SIMULATED,
  simulatorEnvironment,
} from '../../src/dev/simulated-providers.ts';
import { openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import type { Catalogue } from '../../src/domain/catalogue.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { createStorage, type Storage } from '../../src/storage/index.ts';
import { KILL_POINTS_URL } from '../chaos/kill-points.mjs';
import { Control } from '../simulators/control.ts';
import { fastCatalogue } from './catalogue.ts';
import { createTestDatabase } from './stack.ts';
import { startOwnTemporal } from './own-temporal.ts';
import type { OwnTemporal } from './own-temporal.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

export const GRANTED = 100_000;
/** Each provider has a key and a secret of its own, so that one sent to another is refused. */
const SIMULATOR_SECRETS = Object.fromEntries(
  SIMULATED.map((name) => [
    name,
    {
      apiKey: name === 'infro' ? 'sim-key' : `sim-key-${name}`,
      webhookSecret: `whsec_${Buffer.from(`e2e secret of ${name}`).toString('base64')}`,
    },
  ]),
);

/** A whole Darkroom of real processes for one test file: own database, own Temporal, own simulators. */
export interface Darkroom {
  readonly apiUrl: string;
  readonly db: Db;
  readonly key: string;
  readonly tenantId: string;
  /** INFRO's simulator. */
  readonly sim: Control;
  /** All simulators, by the provider's name. */
  readonly sims: Readonly<Record<string, Control>>;
  readonly temporal: OwnTemporal;
  readonly client: Client;
  readonly outputs: string;
  /** Where the outputs are, as the worker has it. */
  readonly storage: Storage;
  readonly logs: string;
  /** What API and worker were started with; commands take the same. */
  readonly env: NodeJS.ProcessEnv;
  /**
   * `crashAt` = `before:fn` or `after:fn`: the process kills itself once at that SQL function; or a kill point, K1 … K16
   * (test/chaos/kill-points.mjs). `variables` replace its own.
   */
  startWorker(crashAt?: string, variables?: NodeJS.ProcessEnv): Promise<Child>;
  /** `port` = of a second one beside the first; `variables` replace its own. */
  startApi(crashAt?: string, port?: number, variables?: NodeJS.ProcessEnv): Promise<Child>;
  /** The processes that run now. */
  readonly running: { api: Child; worker: Child };
  stop(): Promise<void>;
}

export interface DarkroomOptions {
  readonly catalogue?: Catalogue;
  /** false = the test starts (or crashes) its own worker. */
  readonly worker?: boolean;
  /** A provider that the API knows and no worker. */
  readonly unknownToWorker?: string;
  /** Further host:port entries that API and workers may call, besides the simulators. */
  readonly allow?: readonly string[];
  /** Further variables of API and workers. */
  readonly variables?: Readonly<Record<string, string>>;
  /** STORAGE_URL and what it needs, instead of a folder; the variables must be in this process too. */
  readonly storage?: Readonly<Record<string, string>> & { readonly STORAGE_URL: string };
}

export async function startDarkroom(options: DarkroomOptions = {}): Promise<Darkroom> {
  const folder = temporaryFolder('e2e');
  const logs = join(folder.path, 'logs');
  const [apiPort = 0] = await freePorts(1);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const [database, temporal, simulator] = await Promise.all([
    createTestDatabase(),
    startOwnTemporal(join(folder.path, 'temporal')),
    startSimulators(logs),
  ]);
  const catalogueFile = join(folder.path, 'catalogue.json');
  const { writeFile } = await import('node:fs/promises');
  await writeFile(catalogueFile, JSON.stringify(options.catalogue ?? fastCatalogue));
  const outputs = join(folder.path, 'outputs');
  const storage = options.storage ?? { STORAGE_URL: `file:${outputs}` };
  const providers = simulator.environment;
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    NODE_OPTIONS: '',
    PORT: String(apiPort),
    PUBLIC_URL: apiUrl,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    ...providers,
    NET_ALLOW: [providers['NET_ALLOW'], ...(options.allow ?? [])].join(','),
    ...storage,
    KEYRING: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    CATALOGUE_FILE: catalogueFile,
    LOG_LEVEL: 'info',
    ...options.variables,
  };
  const db = openDb(database.url, { poolSize: 4 });
  const tenant = await createTenant({ db }, { name: 'e2e' });
  const { text: key } = await createApiKey(
    { db },
    { tenantId: tenant.id, scopes: ['generations'], label: 'e2e' },
  );
  await grantCredits(
    { db },
    {
      tenantId: tenant.id,
      account: 'default',
      credits: GRANTED,
      businessKey: 'e2e',
      reason: 'test',
      actor: 'test',
    },
  );
  const sims = Object.fromEntries(
    Object.entries(simulator.urls).map(([name, url]) => [name, new Control(url)]),
  );
  const connection = Connection.lazy({ address: temporal.address });
  const client = new Client({ connection });
  const children = new Set<Child>([simulator.child]);

  /** Without the provider that no worker shall know. */
  function environmentOf(name: 'api' | 'worker'): NodeJS.ProcessEnv {
    const prefix = `PROVIDER_${options.unknownToWorker?.toUpperCase() ?? ' '}_`;
    if (name === 'api') return env;
    return Object.fromEntries(Object.entries(env).filter(([variable]) => !variable.startsWith(prefix)));
  }

  async function start(
    name: 'api' | 'worker',
    crashAt: string | undefined,
    ready: RegExp,
    more: NodeJS.ProcessEnv = {},
  ): Promise<Child> {
    const logFile = join(logs, `${name}-${randomUUID()}.log`);
    const crash = /^K\d+$/.test(crashAt ?? '') ? KILL_POINTS_URL : new URL('crash.mjs', import.meta.url).href;
    const child = await startChild({
      name,
      command: process.execPath,
      args: [
        ...(crashAt === undefined ? [] : ['--import', crash]),
        join(inject('programs'), name, 'main.js'),
      ],
      env: {
        ...environmentOf(name),
        ...more,
        ...(crashAt === undefined ? {} : { CRASH_AT: crashAt, CRASH_MARKER: `${logFile}.crashed` }),
      },
      logFile,
    });
    children.add(child);
    const isReady = await waitUntil(async () => ready.test(await logOf(logFile)), {
      timeoutMs: 120_000,
      stopped: () => !child.isRunning(),
    });
    if (!isReady) throw new Error(`${name} did not start:\n${await logOf(logFile)}`);
    return child;
  }
  const startApi = (crashAt?: string, port = apiPort, variables: NodeJS.ProcessEnv = {}) =>
    start('api', crashAt, /api ready/, { PORT: String(port), ...variables });
  const startWorker = (crashAt?: string, variables?: NodeJS.ProcessEnv) =>
    start('worker', crashAt, /worker ready/, variables);
  const [api, worker] = await Promise.all([
    startApi(),
    options.worker === false ? simulator.child : startWorker(),
  ]);

  return {
    apiUrl,
    db,
    key,
    tenantId: tenant.id,
    sim: sims['infro']!,
    sims,
    temporal,
    client,
    outputs,
    storage: createStorage(storage.STORAGE_URL),
    logs,
    env,
    startWorker,
    startApi,
    running: { api, worker },
    async stop() {
      await Promise.all([...children].map((child) => child.stop(2_000, 'SIGKILL')));
      await Promise.allSettled([connection.close(), db.close()]);
      await temporal.stop();
      await database.drop();
      await folder.remove();
    },
  };
}

/** All simulators in one process. */
export interface Simulators {
  readonly urls: Readonly<Record<string, string>>;
  readonly child: Child;
  /** The settings with which API and worker use them, NET_ALLOW among them. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @param logs - the folder of the log file */
export async function startSimulators(logs: string): Promise<Simulators> {
  let output = '';
  const child = await startChild({
    name: 'simulators',
    command: process.execPath,
    args: [
      join(inject('programs'), 'simulators', 'main.js'),
      '--render-ms',
      '700',
      ...SIMULATED.flatMap((name) => ['--only', name]),
    ],
    env: { ...process.env, ...simulatorEnvironment(SIMULATOR_SECRETS) },
    logFile: join(logs, 'simulators.log'),
    onStdout: (text) => {
      output += text;
    },
  });
  const ready = await waitUntil(async () => Object.keys(printedUrls(output)).length === SIMULATED.length, {
    timeoutMs: 120_000,
    stopped: () => !child.isRunning(),
  });
  if (!ready) throw new Error(`the simulators did not start: ${await logOf(child.logFile)}`);
  const urls = printedUrls(output);
  return { urls, child, environment: providerEnvironment(urls, SIMULATOR_SECRETS) };
}

async function logOf(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : '';
}
