import type { Server } from 'node:http';
import { createApp, type AppDependencies } from '../../src/api/app.ts';
import { createLogger } from '../../src/log.ts';
import { closeServer, createApiServer, listen } from '../../src/api/server.ts';
import type { ChangeFeed, Db, RunFacts } from '../../src/db/index.ts';
import { makeApiKey, type Scope } from '../../src/domain/api-key.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { parseKeyring, type Keyring } from '../../src/domain/keyring.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { checkUrl, createOutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { createWaiters } from '../../src/services/await-generation.ts';
import { createFileDelivery } from '../../src/services/file-delivery.ts';
import { createGenerationChanges, type GenerationChanges } from '../../src/services/generation-changes.ts';
import { createReadiness } from '../../src/services/check-readiness.ts';
import { createInputSlots } from '../../src/services/slots.ts';
import type { SweepContext } from '../../src/services/sweep-context.ts';
import { createScan, createStorage } from '../../src/storage/index.ts';

export const WEBHOOK_SECRET = 'whsec_testsecrettestsecrettestsecret';

export function testKeyring(id = 'k1', byte = 1): Keyring {
  return parseKeyring(`${id}:${Buffer.alloc(32, byte).toString('base64')}`);
}

/** The real INFRO adapter, which is never called out of the process by these tests. */
export function infroOnly(webhookSecrets: readonly string[]): AppDependencies['providers'] {
  const http = createOutboundHttp({ allow: [] });
  const adapters = createProviders({ http, providers: new Map([['infro', {}]]) });
  return new Map(
    [...adapters].map(([name, provider]) => [name, { provider, credentialName: 'default', webhookSecrets }]),
  );
}

/** Nobody follows anything. */
export const NO_CHANGES: GenerationChanges = { follow: () => () => {}, close: async () => {} };

/** A feed whose hints are all lost: what moved is found by looking. */
export const NO_HINTS: Pick<ChangeFeed, 'subscribe'> = { subscribe: () => () => {} };

/** What tests of other things than files need of them. */
export function fileParts() {
  return {
    links: createFileLinks(testKeyring(), null),
    storage: createStorage('file:/nonexistent/darkroom-test'),
    scan: createScan(null),
    http: createOutboundHttp({ allow: [] }),
    checkUrl: (url: string) => checkUrl(url, []).ok,
    inputSlots: createInputSlots(),
    runUrl: (id: string) => `http://ui.test/namespaces/default/workflows/${id}`,
    retentionMs: 30 * 86_400_000,
    fileDelivery: createFileDelivery(),
  };
}

/** A sweep whose runs are all there, at providers that have no list. */
export function sweepOf(db: Db, signal: AbortSignal, woken: TestApi['woken']): SweepContext {
  return {
    db,
    ensure: async (run, reason) => {
      woken.push({ run, reason });
    },
    isRunOpen: async () => true,
    storage: { remove: async () => {} },
    providers: new Map(),
    callbacks: { submissionOf: () => null },
    onProblem: () => {},
    signal,
  };
}

export interface TestApi {
  readonly url: string;
  /** Every log line so far. */
  readonly logs: string[];
  /** What the API asked to be started or woken. */
  readonly woken: { readonly run: RunFacts; readonly reason: string }[];
  /** Its limits may be shortened by a test. */
  readonly server: Server;
  readonly drain: () => void;
  close(): Promise<void>;
}

/** The whole API over real HTTP on a free port, on the given database. */
export async function startApi(
  db: Db,
  overrides: Partial<AppDependencies> = {},
  limits: Parameters<typeof createApiServer>[1] = {},
): Promise<TestApi> {
  const logs: string[] = [];
  const woken: TestApi['woken'] = [];
  const draining = new AbortController();
  const changes = createGenerationChanges({ db, feed: NO_HINTS, onProblem: () => {} }, { lookEveryMs: 100 });
  const app = createApp({
    db,
    catalogue: DEFAULT_CATALOGUE,
    keyring: testKeyring(),
    providers: infroOnly([WEBHOOK_SECRET]),
    starter: {
      enqueue(run, reason) {
        woken.push({ run, reason });
        return true;
      },
    },
    nowMs: Date.now,
    ...fileParts(),
    changes,
    waiters: createWaiters(8),
    readiness: createReadiness([], () => {}),
    draining: draining.signal,
    sweep: sweepOf(db, draining.signal, woken),
    logger: createLogger('info', 'api', { destination: { write: (line: string) => logs.push(line) } }),
    ...overrides,
  });
  const server = createApiServer(app, limits);
  const port = await listen(server, 0, '127.0.0.1');
  return {
    url: `http://127.0.0.1:${port}`,
    logs,
    woken,
    server,
    drain: () => draining.abort(),
    async close() {
      await closeServer(server, 100);
      await changes.close();
    },
  };
}

export interface StubDb {
  readonly db: Db;
  readonly apiKey: string;
  /** Names of the SQL functions that were called. */
  readonly calls: string[];
  /** Number of plain reads, those of API keys included. */
  reads: number;
}

/** A database that knows one API key and answers everything else with `fail`; for what must not reach a database. */
export function stubDb(
  options: {
    readonly scopes?: readonly Scope[];
    readonly fail?: Error;
    readonly tenantId?: string | null;
  } = {},
): StubDb {
  const key = makeApiKey();
  const { scopes = ['generations'], fail = new Error('stub'), tenantId = 'ten_stub' } = options;
  const calls: string[] = [];
  const refuse = async () => {
    throw fail;
  };
  const stub: StubDb = { db: undefined as unknown as Db, apiKey: key.text, calls, reads: 0 };
  const read = async () => {
    stub.reads += 1;
    return [{ id: key.id, tenantId, secretSha256: key.sha256, scopes, requestsLimited: false }];
  };
  const db = {
    prisma: { $queryRaw: read, generation: { findFirst: refuse, findMany: refuse } },
    query: (text: string) => (text.includes('FROM api_key') ? read() : refuse()),
    async call(name: string) {
      calls.push(name);
      throw fail;
    },
    close: async () => {},
  };
  return Object.assign(stub, { db: db as unknown as Db });
}
