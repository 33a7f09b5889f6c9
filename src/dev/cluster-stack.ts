import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DefaultLogger } from '@temporalio/worker';
import { migrate } from '../db/migrate.ts';
import { writeWorkflowBundle } from '../worker/bundle-workflows.ts';
import { type Child, logTail, waitUntil } from './child.ts';
import type { ClusterPrograms } from './cluster-binary.ts';
import { type ClusterTemporal, lowPorts, startClusterTemporal } from './cluster-temporal.ts';
import { folderSecrets } from './data-folder.ts';
import { freePorts } from './ports.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { startProgram, startSimulators } from './programs.ts';
import { withoutTemporal } from './servers.ts';
import { providerEnvironment, SIMULATED, withoutProviders } from './simulated-providers.ts';
import type { StackInput } from './stack.ts';

/** Of each of API and worker. */
const COPIES = 2;
const READY_MS = 120_000;

export interface ClusterStack {
  readonly apiUrls: readonly string[];
  /** Darkroom's own. */
  readonly databaseUrl: string;
  readonly storageUrl: string;
  /** INFRO's simulator, and the key it takes. */
  readonly provider: { readonly url: string; readonly apiKey: string };
  readonly temporal: ClusterTemporal;
  /** Temporal's PostgreSQL loses its processes at once, and comes back at the same port. */
  restartTemporalDatabase(): Promise<void>;
}

/**
 * Starts a PostgreSQL each for Darkroom and Temporal, the clustered server, the simulators, two APIs and two workers.
 * @throws Error saying which part did not start, with the end of its log
 */
export async function startClusterStack(input: StackInput, programs: ClusterPrograms): Promise<ClusterStack> {
  const { dataDir, env, say, parts } = input;
  const logs = join(dataDir, 'logs');
  mkdirSync(logs, { recursive: true });
  say('starting two PostgreSQL servers');
  const own = await startPostgres({ dataDir: join(dataDir, 'darkroom', 'postgres') });
  parts.add(() => own.stop());
  const database = await restartablePostgres(input, join(dataDir, 'temporal', 'postgres'));
  say("starting Temporal's clustered server");
  const [temporal] = await Promise.all([
    startClusterTemporal({ programs, dataDir, logs, databaseUrl: database.url }),
    migrate(own.url),
  ]);
  parts.add(() => temporal.stop());
  parts.assertWanted();
  const secrets = folderSecrets(dataDir, SIMULATED);
  const simulators = await startSimulators(input, logs, secrets);
  const bundle = join(dataDir, 'workflows.js');
  await writeWorkflowBundle(bundle, new DefaultLogger('WARN'));
  const apiPorts = await freePorts(COPIES);
  const storageUrl = pathToFileURL(join(dataDir, 'outputs')).href;
  const settings: NodeJS.ProcessEnv = {
    ...withoutProviders(withoutTemporal(env, true, dataDir)),
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    DATABASE_URL: own.url,
    TEMPORAL_ADDRESS: temporal.address,
    ...providerEnvironment(simulators, secrets.simulators),
    STORAGE_URL: storageUrl,
    KEYRING: secrets.keyring,
    WORKFLOW_BUNDLE: bundle,
    LOG_LEVEL: env['LOG_LEVEL'] ?? 'info',
  };
  parts.assertWanted();
  say(`starting ${COPIES} APIs and ${COPIES} workers`);
  const apiUrls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
  const starts = apiPorts.flatMap((port, at) => {
    const pair = { ...settings, PORT: String(port), PUBLIC_URL: apiUrls[at] };
    return [
      startProgram({
        name: `API-${at + 1}`,
        script: 'src/api/main.ts',
        logs,
        env: pair,
        stopSignal: 'SIGINT',
      }),
      startProgram({
        name: `Worker-${at + 1}`,
        script: 'src/worker/main.ts',
        logs,
        env: pair,
        stopSignal: 'SIGTERM',
      }),
    ];
  });
  const children = await Promise.all(starts);
  parts.add(() => Promise.all(children.map((child) => child.stop(8_000))));
  for (const child of children) parts.watch(child.name, child.ended, child.logFile);
  await Promise.race([Promise.all(apiUrls.map((url) => ready(url, children))), parts.broken]);
  return {
    apiUrls,
    databaseUrl: own.url,
    storageUrl,
    provider: { url: simulators['infro']!, apiKey: secrets.simulators['infro']!.apiKey },
    temporal,
    restartTemporalDatabase: () => database.crash(),
  };
}

async function restartablePostgres(
  { parts }: StackInput,
  dataDir: string,
): Promise<{ readonly url: string; crash(): Promise<void> }> {
  const [wanted] = await lowPorts(1);
  let postgres: Postgres = await startPostgres({ dataDir, port: wanted!, database: 'postgres' });
  parts.add(() => postgres.stop());
  const { port, url } = postgres;
  return {
    url,
    async crash() {
      await postgres.stop('immediate');
      postgres = await startPostgres({ dataDir, port, database: 'postgres' });
      if (postgres.port !== port) {
        throw new Error(
          `The port ${port} of Temporal's PostgreSQL was taken while it was down: run this again.`,
        );
      }
    },
  };
}

/** Its database, Temporal and a worker on every queue are there. */
async function ready(apiUrl: string, children: readonly Child[]): Promise<void> {
  let last = 'nothing';
  const isReady = async () => {
    const answer = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
    if (answer === null) return false;
    last = await answer.text();
    return answer.ok && (JSON.parse(last) as { status?: string }).status === 'ready';
  };
  const stopped = () => children.some((child) => !child.isRunning());
  if (await waitUntil(isReady, { timeoutMs: READY_MS, everyMs: 250, stopped })) return;
  const [api] = children;
  throw new Error(
    `${apiUrl} did not become ready; it last said: ${last}\n${api === undefined ? '' : await logTail(api.logFile)}`,
  );
}
