import { Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { createDownloadSlots } from '../activities/index.ts';
import type { ProviderAccess } from '../activities/index.ts';
import { loadWorkerConfig } from '../config.ts';
import { assertDatabaseUsable, openDb } from '../db/index.ts';
import { createCallbackUrls } from '../domain/callback-urls.ts';
import { runSweep } from '../loops/sweep.ts';
import { createOutboundHttp } from '../net/index.ts';
import { createProviders } from '../providers/index.ts';
import { createStorage } from '../storage/index.ts';
import { connectTemporal } from '../temporal/client.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { createWorkers } from './create-workers.ts';

const RETENTION_MS = 30 * 86_400_000;
const POOL_SIZE = 20;

const config = loadWorkerConfig(process.env);
const log = pino({ level: config.logLevel, base: { service: 'worker' } });
Runtime.install({ shutdownSignals: [] });

const db = openDb(config.databaseUrl, { poolSize: POOL_SIZE });
await assertDatabaseUsable(db);
const http = createOutboundHttp({ allow: config.netAllow });
const storage = createStorage(config.storageUrl);
await storage.check();

const credential = { name: 'default', apiKey: config.providers.infro.apiKey ?? '' };
const adapters = createProviders({
  http,
  infro: config.providers.infro.apiKey === null ? undefined : { baseUrl: config.providers.infro.baseUrl },
});
const providers = new Map<string, ProviderAccess>(
  [...adapters].map(([name, provider]) => [
    name,
    {
      provider,
      current: credential,
      credential: (wanted) => (wanted === credential.name ? credential : undefined),
    },
  ]),
);

const temporal = connectTemporal();
const { workers, close } = await createWorkers({
  deps: {
    db,
    providers,
    http,
    storage,
    slots: createDownloadSlots(8),
    callbacks: createCallbackUrls(config.keyring, config.publicUrl),
    retentionMs: RETENTION_MS,
    log,
    random: Math.random,
  },
  submitsPerSecond: 10,
  shutdownGraceMs: 45_000,
});

const stop = new AbortController();
const sweep = runSweep(
  {
    db,
    ensure: (facts, reason) =>
      ensureRunning(
        {
          client: temporal.client,
          onDegraded: (problem) => log.error({ problem }, 'run "darkroom migrate"'),
        },
        facts,
        reason,
      ),
    onProblem: (problem, error, generation) =>
      log.warn({ problem, generation, error: (error as Error).name }, 'sweep'),
  },
  stop.signal,
);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    log.info({ signal }, 'stopping: running steps finish first');
    stop.abort();
    for (const worker of workers) worker.shutdown();
  });
}

log.info({ queues: workers.map(({ options }) => options.taskQueue) }, 'worker ready');
await Promise.all(workers.map((worker) => worker.run()));
stop.abort();
await sweep;
await Promise.allSettled([close(), temporal.close(), http.close(), db.close()]);
log.info('worker stopped');
