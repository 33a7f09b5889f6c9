import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { vi } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { startChild, waitUntil } from '../../src/dev/child.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import type { Catalogue } from '../../src/domain/catalogue.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { createTenant } from '../../src/services/create-tenant.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { Control } from '../simulators/control.ts';
import { fastCatalogue } from './catalogue.ts';
import { createTestDatabase } from './stack.ts';
import { startOwnTemporal } from './own-temporal.ts';
import type { OwnTemporal } from './own-temporal.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

export const GRANTED = 100_000;
const API_KEY = 'sim-key';
const SECRET = 'whsec_e2e';

/** A whole Darkroom of real processes for one test file: own database, own Temporal, own simulator. */
export interface Darkroom {
  readonly apiUrl: string;
  readonly db: Db;
  readonly key: string;
  readonly tenantId: string;
  readonly sim: Control;
  readonly temporal: OwnTemporal;
  readonly client: Client;
  readonly outputs: string;
  readonly logs: string;
  /** `crashAt` = `before:fn` or `after:fn`: the process kills itself once at that SQL function. */
  startWorker(crashAt?: string): Promise<Child>;
  startApi(crashAt?: string): Promise<Child>;
  /** The processes that run now. */
  readonly running: { api: Child; worker: Child };
  stop(): Promise<void>;
}

export interface DarkroomOptions {
  readonly catalogue?: Catalogue;
  /** false = the test starts (or crashes) its own worker. */
  readonly worker?: boolean;
}

export async function startDarkroom(options: DarkroomOptions = {}): Promise<Darkroom> {
  const folder = temporaryFolder('e2e');
  const logs = join(folder.path, 'logs');
  const [apiPort = 0] = await freePorts(1);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const [database, temporal, simulator] = await Promise.all([
    createTestDatabase(),
    startOwnTemporal(join(folder.path, 'temporal')),
    startSimulator(logs),
  ]);
  const catalogueFile = join(folder.path, 'catalogue.json');
  const { writeFile } = await import('node:fs/promises');
  await writeFile(catalogueFile, JSON.stringify(options.catalogue ?? fastCatalogue));
  const outputs = join(folder.path, 'outputs');
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    NODE_OPTIONS: '',
    PORT: String(apiPort),
    PUBLIC_URL: apiUrl,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    PROVIDER_INFRO_BASE_URL: simulator.url,
    PROVIDER_INFRO_API_KEY: API_KEY,
    PROVIDER_INFRO_WEBHOOK_SECRET: SECRET,
    NET_ALLOW: new URL(simulator.url).host,
    STORAGE_URL: `file:${outputs}`,
    KEYRING: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    CATALOGUE_FILE: catalogueFile,
    LOG_LEVEL: 'info',
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
  const connection = Connection.lazy({ address: temporal.address });
  const client = new Client({ connection });
  const children = new Set<Child>([simulator.child]);

  async function start(name: 'api' | 'worker', crashAt: string | undefined, ready: RegExp): Promise<Child> {
    const logFile = join(logs, `${name}-${randomUUID()}.log`);
    const crash = new URL('crash.mjs', import.meta.url).href;
    const child = await startChild({
      name,
      command: process.execPath,
      args: ['--import', 'tsx', ...(crashAt === undefined ? [] : ['--import', crash]), `src/${name}/main.ts`],
      env: {
        ...env,
        ...(crashAt === undefined ? {} : { CRASH_AT: crashAt, CRASH_MARKER: `${logFile}.crashed` }),
      },
      logFile,
    });
    children.add(child);
    const isReady = await waitUntil(async () => ready.test(await logOf(logFile)), {
      timeoutMs: 60_000,
      stopped: () => !child.isRunning(),
    });
    if (!isReady) throw new Error(`${name} did not start:\n${await logOf(logFile)}`);
    return child;
  }
  const startApi = (crashAt?: string) => start('api', crashAt, /api ready/);
  const startWorker = (crashAt?: string) => start('worker', crashAt, /worker ready/);
  const [api, worker] = await Promise.all([
    startApi(),
    options.worker === false ? simulator.child : startWorker(),
  ]);

  return {
    apiUrl,
    db,
    key,
    tenantId: tenant.id,
    sim: new Control(simulator.url),
    temporal,
    client,
    outputs,
    logs,
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

async function startSimulator(logs: string): Promise<{ url: string; child: Child }> {
  let output = '';
  const child = await startChild({
    name: 'simulator',
    command: process.execPath,
    args: [
      '--import',
      'tsx',
      'src/simulators/main.ts',
      '--api-key',
      API_KEY,
      '--webhook-secret',
      SECRET,
      '--render-ms',
      '700',
    ],
    env: process.env,
    logFile: join(logs, 'simulator.log'),
    onStdout: (text) => {
      output += text;
    },
  });
  const ready = await waitUntil(async () => output.includes('\n'), {
    timeoutMs: 30_000,
    stopped: () => !child.isRunning(),
  });
  if (!ready) throw new Error(`the simulator did not start: ${await logOf(child.logFile)}`);
  return { url: (JSON.parse(output) as { url: string }).url, child };
}

async function logOf(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : '';
}
