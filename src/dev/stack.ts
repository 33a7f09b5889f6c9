import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Child, logTail, waitUntil } from './child.ts';
import { folderSecrets } from './data-folder.ts';
import type { Parts } from './parts.ts';
import { freePort } from './ports.ts';
import { startProgram, startSimulators } from './programs.ts';
import { openDatabase, openTemporal, withoutTemporal } from './servers.ts';
import { providerEnvironment, SIMULATED, withoutProviders } from './simulated-providers.ts';

/** What a stack is started with. */
export interface StackInput {
  readonly dataDir: string;
  /** The environment of `npm start`: DATABASE_URL, TEMPORAL_ADDRESS and PORT are honoured. */
  readonly env: NodeJS.ProcessEnv;
  /** Told each step in one line. */
  readonly say: (line: string) => void;
  /** Takes what has started, also when starting fails. */
  readonly parts: Parts;
}

export interface Stack {
  readonly apiUrl: string;
  /** null when TEMPORAL_ADDRESS names a server that we did not start. */
  readonly temporalUiUrl: string | null;
  readonly databaseUrl: string;
  readonly storageUrl: string;
  /** URLs by the provider's name. */
  readonly simulators: Readonly<Record<string, string>>;
  /** The environment variables that API and worker run with, beside those of `npm start`; they hold secrets. */
  readonly settings: Readonly<Record<string, string>>;
}

const PREFERRED_PORT = 8080;

/**
 * Starts PostgreSQL, Temporal, the simulators, API and worker on a data folder and waits until the API is ready.
 * @throws Error saying which part did not start and what to do
 */
export async function startStack(input: StackInput): Promise<Stack> {
  const { dataDir, env, say, parts } = input;
  const logs = join(dataDir, 'logs');
  mkdirSync(logs, { recursive: true });
  const [databaseUrl, temporal] = await Promise.all([openDatabase(input), openTemporal(input)]);
  parts.assertWanted();
  const secrets = folderSecrets(dataDir, SIMULATED);
  const simulators = await startSimulators(input, logs, secrets);
  const port = await freePort(Number(env['PORT'] ?? '') || PREFERRED_PORT);
  const apiUrl = `http://127.0.0.1:${port}`;
  const storageUrl = pathToFileURL(join(dataDir, 'outputs')).href;
  const providers = providerEnvironment(simulators, secrets.simulators);
  const settings = {
    NODE_ENV: 'development',
    PORT: String(port),
    HOST: '127.0.0.1',
    PUBLIC_URL: apiUrl,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    ...(temporal.uiUrl === null ? {} : { TEMPORAL_UI_URL: temporal.uiUrl }),
    ...providers,
    // Beside the simulators what the caller names: a webhook receiver of its own.
    NET_ALLOW: [providers['NET_ALLOW'], env['NET_ALLOW']].filter(Boolean).join(','),
    STORAGE_URL: storageUrl,
    KEYRING: secrets.keyring,
    LOG_LEVEL: env['LOG_LEVEL'] ?? 'info',
  };
  parts.assertWanted();
  say('starting API and worker');
  const ownEnv = withoutProviders(withoutTemporal(env, temporal.uiUrl !== null, dataDir));
  const childEnv = { ...ownEnv, ...settings };
  const [api, worker] = await Promise.all([
    // On SIGTERM the API waits for a load balancer to notice, on SIGINT it does not.
    startProgram({ name: 'API', script: 'src/api/main.ts', logs, env: childEnv, stopSignal: 'SIGINT' }),
    startProgram({
      name: 'Worker',
      script: 'src/worker/main.ts',
      logs,
      env: childEnv,
      stopSignal: 'SIGTERM',
    }),
  ]);
  parts.add(() => Promise.all([api.stop(8_000), worker.stop(8_000)]));
  for (const child of [api, worker]) parts.watch(child.name, child.ended, child.logFile);
  await Promise.race([apiReady(apiUrl, api), parts.broken]);
  return { apiUrl, temporalUiUrl: temporal.uiUrl, databaseUrl, storageUrl, simulators, settings };
}

async function apiReady(apiUrl: string, api: Child): Promise<void> {
  const isReady = async () => {
    const answer = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(3_000) }).catch(() => null);
    return answer?.ok === true;
  };
  const options = { timeoutMs: 60_000, everyMs: 50, stopped: () => !api.isRunning() };
  if (await waitUntil(isReady, options)) return;
  throw new Error(
    `The API did not become ready. The end of its log (${api.logFile}):\n${await logTail(api.logFile)}`,
  );
}
