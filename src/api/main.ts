import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, loadApiConfig, RETENTION_MS } from '../config.ts';
import { assertDatabaseUsable, openChangeFeed, openDb } from '../db/index.ts';
import { createCallbackUrls } from '../domain/callback-urls.ts';
import { createFileLinks } from '../domain/file-links.ts';
import { safeError } from '../domain/safe-error.ts';
import { createLogger } from '../log.ts';
import { runSweep } from '../loops/sweep.ts';
import { countDroppedFields, countOutboundFailures } from '../metrics/index.ts';
import { checkUrl, createOutboundHttp } from '../net/index.ts';
import { createProviders } from '../providers/index.ts';
import { createWaiters } from '../services/await-generation.ts';
import { checkKeyring } from '../services/check-keyring.ts';
import { createReadiness } from '../services/check-readiness.ts';
import type { CallbackProvider } from '../services/context.ts';
import { createFileDelivery } from '../services/file-delivery.ts';
import { createGenerationChanges } from '../services/generation-changes.ts';
import { offeredCatalogue } from '../services/offered-catalogue.ts';
import { createInputSlots } from '../services/slots.ts';
import type { SweepContext } from '../services/sweep-context.ts';
import { logSweepProblem } from '../services/log-sweep-problem.ts';
import { sweptProviders } from '../services/swept-providers.ts';
import { createScan, createStorage } from '../storage/index.ts';
import { connectTemporal } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { assertPollers, assertSearchAttributes } from '../temporal/checks.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { isRunOpen } from '../temporal/runs.ts';
import { createRunUrl } from '../temporal/run-url.ts';
import { createStarter } from '../temporal/starter.ts';
import { openTracing, traceFunctions } from '../tracing/index.ts';
import { packageVersion } from '../version.ts';
import { createApp } from './app.ts';
import { closeServer, createApiServer, listen } from './server.ts';

const POOL_SIZE = 20;
const MAX_WAITERS = 64;
/** How long readiness fails before connections are refused, so that a load balancer has moved on. */
const DRAIN_NOTICE_MS = 3_000;
const DRAIN_LIMIT_MS = 20_000;

const config = readConfig();
const logger = createLogger(config.logLevel, 'api', { onDropped: countDroppedFields });
const tracing = await openTracing({
  url: config.tracesUrl,
  service: 'api',
  version: packageVersion(),
  onProblem: (error) => logger.warn({ error: safeError(error) }, 'traces are lost: the collector takes none'),
});
const draining = new AbortController();
const stop = new AbortController();

const db = traceFunctions(openDb(config.databaseUrl, { poolSize: POOL_SIZE }), tracing);
const storage = createStorage(config.storageUrl);
const temporal = connectTemporal(
  createDataConverter(config.codecKeys, (problem) =>
    logger.error({ problem }, 'a payload in Temporal can not be read'),
  ),
);
const http = countOutboundFailures(createOutboundHttp({ allow: config.netAllow }));
const temporalDeps = {
  client: temporal.client,
  onDegraded: (problem: string) =>
    logger.error({ problem }, 'search attributes are missing: run "darkroom migrate"'),
};
const starter = createStarter((run, reason) => ensureRunning(temporalDeps, run, reason), {
  concurrency: 32,
  limit: 10_000,
  onFailure: (error) => logger.warn({ error: safeError(error) }, 'a run was not started; the sweep will'),
});
const adapters = createProviders({ http, providers: config.providers });
const providers = new Map<string, CallbackProvider>(
  [...config.providers].flatMap(([name, { current, webhookSecret, webhookSecrets }]) => {
    const provider = adapters.get(name);
    const secrets = webhookSecret === 'none' && webhookSecrets.length === 0 ? null : webhookSecrets;
    const credentialName = current.name;
    return provider === undefined ? [] : [[name, { provider, credentialName, webhookSecrets: secrets }]];
  }),
);
const offered = offeredCatalogue(config.catalogue, new Set(adapters.keys()));
if (offered.missingProviders.length > 0) {
  const { missingProviders, droppedModels } = offered;
  logger.warn({ missingProviders, droppedModels }, 'providers without an API key: their routes are left out');
}
if (offered.catalogue.models.length === 0) {
  process.stderr.write(
    'No model can be offered: set PROVIDER_<NAME>_API_KEY of at least one provider that the catalogue names.\n',
  );
  process.exit(78);
}
const readiness = createReadiness(
  [
    {
      name: 'database',
      required: true,
      check: () => assertDatabaseUsable(db),
      advice:
        'PostgreSQL does not answer or is not migrated: check DATABASE_URL, run "npx darkroom migrate".',
    },
    {
      name: 'temporal',
      required: false,
      check: () =>
        temporal.client.withDeadline(Date.now() + 2_000, () =>
          temporal.client.workflowService.getSystemInfo({}),
        ),
      advice:
        'Temporal does not answer: check TEMPORAL_ADDRESS. Generations are still taken and start when it is back.',
    },
    {
      name: 'search_attributes',
      required: false,
      check: () => assertSearchAttributes(temporal.client),
      advice: 'Temporal lacks the search attributes: run "npx darkroom migrate".',
    },
    {
      name: 'workers',
      required: false,
      check: () => assertPollers(temporal.client, [...adapters.keys()]),
      advice: 'A task queue has no worker: start "node dist/worker/main.js".',
    },
    {
      name: 'keyring',
      required: true,
      check: () => checkKeyring({ db, keyring: config.keyring }),
      advice:
        'A key under which jobs still expect callbacks left KEYRING: put it back behind the current one.',
    },
    {
      name: 'storage',
      // Status, callbacks and cancels need no file: an instance without its storage still serves them.
      required: false,
      check: () => storage.check(),
      advice:
        'The storage of files can not be used: outputs wait, links and uploads answer 503. Check STORAGE_URL and free space.',
    },
  ],
  (name, error) => logger.warn({ check: name, error: safeError(error) }, 'not ready'),
);

const feed = openChangeFeed(config.databaseDirectUrl, (error) =>
  logger.warn({ error: safeError(error) }, 'hints of changes are late: listening again'),
);
const changes = createGenerationChanges({
  db,
  feed,
  onProblem: (error) => logger.warn({ error: safeError(error) }, 'looking for changes'),
});
const sweepContext: SweepContext = {
  db,
  ensure: (run, reason) => ensureRunning(temporalDeps, run, reason),
  isRunOpen: (generation) => isRunOpen(temporal.client, generation),
  storage,
  providers: sweptProviders(adapters, config.providers),
  callbacks: createCallbackUrls(config.keyring, config.publicUrl),
  onProblem: logSweepProblem(logger),
  signal: draining.signal,
};
const app = createApp({
  db,
  links: createFileLinks(config.keyring, config.publicUrl),
  storage,
  scan: createScan(config.scan, (problem) => logger.warn({ problem }, 'a file could not be scanned')),
  http,
  checkUrl: (url) => checkUrl(url, config.netAllow).ok,
  inputSlots: createInputSlots(),
  runUrl: createRunUrl(config.temporalUiUrl, temporal.client.options.namespace),
  retentionMs: RETENTION_MS,
  changes,
  fileDelivery: createFileDelivery({ mode: config.outputLinks }),
  catalogue: offered.catalogue,
  keyring: config.keyring,
  providers,
  starter,
  nowMs: Date.now,
  waiters: createWaiters(MAX_WAITERS),
  readiness,
  draining: draining.signal,
  sweep: sweepContext,
  logger,
  tracing,
});
const server = createApiServer(app);
const sweep = runSweep(sweepContext, stop.signal);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void shutDown(signal);
  });
}

const port = await listen(server, config.port, config.host).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
});
logger.info({ host: config.host, port }, 'api ready');

async function shutDown(signal: string): Promise<void> {
  logger.info({ signal }, 'stopping: requests in flight finish first');
  draining.abort();
  if (signal === 'SIGTERM') await delay(DRAIN_NOTICE_MS);
  await closeServer(server, DRAIN_LIMIT_MS);
  stop.abort();
  await Promise.allSettled([sweep, starter.drain(5_000), changes.close()]);
  await Promise.allSettled([temporal.close(), http.close(), feed.close(), db.close()]);
  await tracing.close();
  logger.info('api stopped');
}

function readConfig() {
  try {
    return loadApiConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(78);
  }
}
