import type { Worker } from '@temporalio/worker';
import { createDownloadSlots, createObserve, createPollBudget } from '../activities/index.ts';
import type { ProviderAccess } from '../activities/index.ts';
import { ConfigError, loadWorkerConfig, RETENTION_MS } from '../config.ts';
import { assertDatabaseUsable, countWaitingJobs, openChangeFeed, openDb } from '../db/index.ts';
import { createCallbackUrls } from '../domain/callback-urls.ts';
import { createFileLinks } from '../domain/file-links.ts';
import { safeError } from '../domain/safe-error.ts';
import { allAround, watchedProvider } from '../domain/watched-provider.ts';
import { createLogger } from '../log.ts';
import { runDeliveries } from '../loops/deliver.ts';
import { runHousekeeping } from '../loops/housekeeping.ts';
import { runLateObservations } from '../loops/late.ts';
import { logAttempt } from '../loops/log-attempt.ts';
import { runSweep } from '../loops/sweep.ts';
import {
  countDroppedFields,
  countOutboundFailures,
  createSdkMetrics,
  measureCalls,
  workerMetrics,
} from '../metrics/index.ts';
import { createOutboundHttp, parseAllow } from '../net/index.ts';
import { createProviders } from '../providers/index.ts';
import { checkKeyring } from '../services/check-keyring.ts';
import { logSweepProblem } from '../services/log-sweep-problem.ts';
import { sweptProviders } from '../services/swept-providers.ts';
import { createScan, createStorage } from '../storage/index.ts';
import { connectTemporal } from '../temporal/client.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { isRunOpen } from '../temporal/runs.ts';
import { countStepCalls, openTracing, tellTrace, traceCalls, traceFunctions } from '../tracing/index.ts';
import { packageVersion } from '../version.ts';
import { createWorkers } from './create-workers.ts';
import { deliverySpan } from './delivery-span.ts';
import { startMetricsServer } from './metrics.ts';
import { installRuntime } from './runtime.ts';

const POOL_SIZE = 20;
const DOWNLOADS = 8;
const SHUTDOWN_GRACE_MS = 45_000;

/** Runs the worker until it is asked to stop. @throws with what to do when it cannot start. */
async function main(): Promise<void> {
  const config = loadWorkerConfig(process.env);
  const log = createLogger(config.logLevel, 'worker', { onDropped: countDroppedFields });
  const sdkMetricsUrl = await installRuntime(log, { metrics: config.metrics !== null });
  const tracing = await openTracing({
    url: config.tracesUrl,
    service: 'worker',
    version: packageVersion(),
    onProblem: (error) => log.warn({ error: safeError(error) }, 'traces are lost: the collector takes none'),
  });

  const db = traceFunctions(openDb(config.databaseUrl, { poolSize: POOL_SIZE }), tracing);
  await assertDatabaseUsable(db);
  await checkKeyring({ db, keyring: config.keyring });
  const storage = createStorage(config.storageUrl);
  await storage.check();
  const outbound = createOutboundHttp({ allow: config.netAllow });
  const http = tellTrace(countOutboundFailures(outbound), tracing);
  const around = allAround(countStepCalls, traceCalls(tracing), measureCalls);

  const adapters = createProviders({ http, providers: config.providers });
  const providers = new Map<string, ProviderAccess>(
    [...config.providers].flatMap(([name, { credentials, current }]) => {
      const provider = adapters.get(name);
      const credential = (wanted: string) => credentials.get(wanted);
      if (provider === undefined) return [];
      return [[name, { provider: watchedProvider(provider, around), current, credential }]];
    }),
  );

  const watched = new Map([...providers].map(([name, { provider }]) => [name, provider]));
  const loopback = createOutboundHttp({ allow: parseAllow(sdkMetricsUrl?.host ?? '') });
  const sdkMetrics = sdkMetricsUrl && createSdkMetrics(loopback, sdkMetricsUrl.href);
  let polling: readonly Worker[] = [];
  const isPolling = () => polling.length > 0 && polling.every((worker) => worker.getState() === 'RUNNING');
  const metrics =
    config.metrics &&
    (await startMetricsServer(
      workerMetrics(db, [...providers.keys()], sdkMetrics),
      config.metrics,
      isPolling,
    ));

  const callbacks = createCallbackUrls(config.keyring, config.publicUrl);
  const links = createFileLinks(config.keyring, config.publicUrl);
  const dataConverter = createDataConverter(config.codecKeys, (problem) =>
    log.error({ problem }, 'a payload in Temporal can not be read'),
  );
  const temporal = connectTemporal(dataConverter);
  const onDegraded = (problem: string) => log.error({ problem }, 'run "darkroom migrate"');
  const { workers, close } = await createWorkers({
    deps: {
      db,
      providers,
      http,
      storage,
      scan: createScan(config.scan, (problem) => log.warn({ problem }, 'a file could not be scanned')),
      observe: createObserve(),
      pollBudget: createPollBudget(() => countWaitingJobs(db)),
      slots: createDownloadSlots(DOWNLOADS),
      callbacks,
      links: config.publicUrl === null ? null : links,
      retentionMs: RETENTION_MS,
      log,
      random: Math.random,
    },
    lines: {
      log,
      tracing,
      onSettled: (generation) => tracing.recordRoot(generation, { generation }),
    },
    submitsPerSecond: new Map(
      [...config.providers].map(([name, { submitsPerSecond }]) => [name, submitsPerSecond]),
    ),
    workflowBundle: config.workflowBundle,
    dataConverter,
    deployment: config.deployment,
    shutdownGraceMs: SHUTDOWN_GRACE_MS,
  });

  const stop = new AbortController();
  const sweep = runSweep(
    {
      db,
      ensure: (facts, reason) => ensureRunning({ client: temporal.client, onDegraded }, facts, reason),
      isRunOpen: (generation) => isRunOpen(temporal.client, generation),
      storage,
      providers: sweptProviders(watched, config.providers),
      callbacks,
      onProblem: logSweepProblem(log),
    },
    stop.signal,
  );
  const late = runLateObservations(
    {
      db,
      providers,
      callbacks,
      onLateSuccess: (submission) => log.warn({ submission }, 'late success: paid for, delivered to nobody'),
      onProblem: (error) => log.warn({ error: safeError(error) }, 'late observation'),
    },
    stop.signal,
  );
  const feed = openChangeFeed(config.databaseDirectUrl, (error) =>
    log.warn({ error: safeError(error) }, 'hints of changes are late: listening again'),
  );
  const deliveries = runDeliveries(
    {
      db,
      feed,
      keyring: config.keyring,
      links,
      // Not counted with the calls to providers: a tenant's dead receiver is no fault of ours.
      http: outbound,
      userAgent: `Darkroom/${packageVersion()}`,
      nowMs: Date.now,
      random: Math.random,
      onAttempt(report) {
        logAttempt(log, report);
        tracing.record(deliverySpan(report, Date.now()));
      },
      onProblem: (error) => log.warn({ error: safeError(error) }, 'delivering webhooks'),
    },
    stop.signal,
  );
  const housekeeping = runHousekeeping(
    {
      db,
      storage,
      random: Math.random,
      onProblem: (problem, error, path) =>
        log.warn({ problem, path, error: error === null ? null : safeError(error) }, 'housekeeping'),
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

  polling = workers;
  const queues = workers.map(({ options }) => options.taskQueue);
  log.info({ queues, metricsPort: metrics?.port }, 'worker ready');
  try {
    await Promise.all(workers.map((worker) => worker.run()));
  } finally {
    stop.abort();
    await Promise.all([sweep, late, housekeeping, deliveries]);
    await Promise.allSettled([
      metrics?.close(),
      close(),
      temporal.close(),
      http.close(),
      loopback.close(),
      feed.close(),
      db.close(),
    ]);
  }
  await tracing.close();
  log.info('worker stopped');
}

await main().catch((error: unknown) => {
  process.stderr.write(`The worker cannot run: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof ConfigError ? 78 : 1);
});
