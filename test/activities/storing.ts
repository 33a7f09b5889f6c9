import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { expect, onTestFinished } from 'vitest';
import { collect } from '../../src/activities/collect.ts';
import { createDownloadSlots } from '../../src/activities/index.ts';
import type { ActivityDeps } from '../../src/activities/index.ts';
import type { AttemptContext } from '../../src/activities/job.ts';
import type { Observation } from '../../src/domain/provider.ts';
import type { FrozenPlan } from '../../src/domain/plan.ts';
import type { Step } from '../../src/domain/step.ts';
import type { Timings } from '../../src/domain/timings.ts';
import { jobMetrics } from '../../src/metrics/job-metrics.ts';
import { makeMp4 } from '../../src/simulators/media/mp4.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { TestDb } from '../db/database.ts';
import { accepted, newTenant, planFor } from '../db/fixtures.ts';
import { parseSamples } from '../metrics/samples.ts';
import { createClient, startHttp } from '../net/servers.ts';

export const VIDEO = makeMp4('an output', 5);
/** Retries and leases that a test can wait for. */
const TIMINGS = { storeRetryMs: 100, storeLeaseMs: 3_000, observeSpacingMs: 0 };

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** One job that has succeeded at a provider, whose outputs lie on a real HTTP server, and all that stores them. */
export interface Bench {
  readonly id: string;
  readonly deps: ActivityDeps;
  readonly lines: LogLine[];
  /** Requests that the file server has seen. */
  readonly requests: { readonly url: string; readonly authorization: string | undefined }[];
  /** How often the provider was asked, and thus gave fresh links. */
  readonly looks: () => number;
  /** Bytes told to the sign of life. */
  readonly received: () => number;
  /** One attempt of the step; the step it returned, or the milliseconds until the next attempt. */
  attempt(over?: Partial<ActivityDeps>, shutdown?: AbortSignal): Promise<Step | number>;
  /** Attempts until the step returns, without waiting in between. */
  untilStep(): Promise<Step>;
  outputs(): Promise<{ state: string; problem: string | null; path: string | null; attempt: number }[]>;
  /** Everything below the storage's folder, temporary files too. */
  files(): Promise<string[]>;
  read(path: string): Promise<Buffer>;
}

export interface BenchOptions {
  readonly listener: RequestListener;
  readonly outputs?: number;
  readonly timings?: Partial<Timings>;
  readonly plan?: (plan: FrozenPlan) => FrozenPlan;
  readonly deps?: (made: ActivityDeps, root: string) => Partial<ActivityDeps>;
  /** What the provider says at the nth look; default: succeeded, with fresh links. */
  readonly observe?: (look: number, links: readonly string[]) => Observation | Promise<Observation>;
  readonly downloadAuth?: (url: URL, key: string) => Record<string, string>;
}

export async function startBench(test: TestDb, options: BenchOptions): Promise<Bench> {
  const { outputs = 1 } = options;
  const root = await mkdtemp(join(tmpdir(), 'darkroom-outputs-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const requests: { url: string; authorization: string | undefined }[] = [];
  const server = await startHttp((request, response) => {
    requests.push({ url: request.url ?? '', authorization: request.headers.authorization });
    options.listener(request, response);
  });
  const plan = options.plan?.(planFor(outputs)) ?? planFor(outputs);
  const id = await accepted(test.db, await newTenant(test.db), {
    plan: { ...plan, timings: { ...plan.timings, ...TIMINGS, ...options.timings } },
    credits: plan.creditsTotal,
  });
  let looks = 0;
  let received = 0;
  const lines: LogLine[] = [];
  const say = (level: LogLine['level']) => (fields: LogLine['fields'], message: string) => {
    lines.push({ level, fields, message });
  };
  const provider = {
    name: 'infro',
    capabilities: { cancel: 'may_bill' },
    outputHosts: ['127.0.0.1'],
    downloadAuth: (url: URL, { apiKey }: { apiKey: string }) => options.downloadAuth?.(url, apiKey) ?? {},
    async observe() {
      looks += 1;
      const links = Array.from(
        { length: outputs },
        (_, n) => `http://127.0.0.1:${server.port}/${n}/${looks}`,
      );
      return options.observe?.(looks, links) ?? succeeded(links);
    },
  };
  const keys: Readonly<Record<string, string>> = { main: 'key of the submission', next: 'the next key' };
  const access = {
    provider,
    current: { name: 'next', apiKey: keys['next'] },
    credential: (name: string) => ({ name, apiKey: keys[name] }),
  };
  // Only what these steps use; a provider beyond its outputs is never touched.
  const made = {
    db: test.db,
    providers: new Map([['infro', access]]),
    http: createClient([server.port]),
    storage: createFilesystemStorage(root),
    scan: async () => ({ kind: 'clean' }),
    slots: createDownloadSlots(8),
    observe: () => provider.observe(),
    pollBudget: { spacingMs: () => 0 },
    retentionMs: 86_400_000,
    log: { info: say('info'), warn: say('warn'), error: say('error') },
    random: () => 0.5,
  } as unknown as ActivityDeps;
  const deps = { ...made, ...options.deps?.(made, root) };
  let attempts = 0;
  const bench: Bench = {
    id,
    deps,
    lines,
    requests,
    looks: () => looks,
    received: () => received,
    async attempt(over = {}, shutdown = new AbortController().signal) {
      attempts += 1;
      const context: AttemptContext = {
        attempt: attempts,
        signal: shutdown,
        shutdown,
        received: (bytes) => {
          received += bytes;
        },
      };
      try {
        return await collect({ ...deps, ...over }, { generationId: id, cancelPressed: false }, context);
      } catch (error) {
        if (!(error instanceof ApplicationFailure) || error.type !== 'NotYet') throw error;
        return Number(error.nextRetryDelay);
      }
    },
    async untilStep() {
      for (let n = 0; n < 20; n += 1) {
        const step = await bench.attempt();
        if (typeof step !== 'number') return step;
      }
      throw new Error('the outputs are still not decided');
    },
    outputs: () =>
      test.db.prisma.output.findMany({
        where: { generationId: id },
        orderBy: { index: 'asc' },
        select: { state: true, problem: true, path: true, attempt: true },
      }),
    async files() {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
        .sort();
    },
    read: (path) => readFile(join(root, path)),
  };
  return bench;
}

export function succeeded(urls: readonly string[], linkExpiresAt: Date | null = null): Observation {
  return {
    kind: 'succeeded',
    status: 'succeeded',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt,
    cost: null,
  };
}

/** How many attempts this process has counted for this problem so far. */
export async function counted(problem: string): Promise<number> {
  const samples = parseSamples(await jobMetrics.metrics());
  return samples.find(({ labels }) => labels['problem'] === problem)?.value ?? 0;
}

/** The step that proposes this end. */
export function settles(state: 'succeeded' | 'failed', errorCode: string | null = null) {
  return expect.objectContaining({ step: 'settle', proposal: { state, errorCode } }) as unknown;
}

/** A promise that is kept by calling `open`. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Answers every request with this file. */
export const serve =
  (file: Uint8Array = VIDEO): RequestListener =>
  (_request, response) =>
    response.end(file);
