import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Provider } from '../../src/domain/provider.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { createReplicateProvider } from '../../src/providers/replicate.ts';
import { JOBS_DEFAULTS, reconcileJobs } from '../../src/services/reconcile-jobs.ts';
import type { OnSweepProblem, SweptProvider } from '../../src/services/sweep-context.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import { replicateSimulator } from '../../src/simulators/replicate.ts';
import { settle } from '../../src/db/index.ts';
import { testKeyring } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { Control } from '../simulators/control.ts';
import { accept, answer, create, newTenant, send } from '../db/fixtures.ts';

const test = useDatabase();
const NOW = { ...JOBS_DEFAULTS, everyMs: 0, spacingMs: 1 };
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const BASE = 'https://darkroom.example';
const callbacks = createCallbackUrls(testKeyring(), BASE);
let simulators: RunningSimulator[];
let http: OutboundHttp;
let replicate: Provider;
let kling: Provider;

beforeAll(async () => {
  simulators = await Promise.all([
    startSimulator(replicateSimulator, { renderMs: 60_000 }),
    startSimulator(klingSimulator, { renderMs: 60_000 }),
  ]);
  const allow = simulators
    .map(({ url }) => new URL(url))
    .map(({ hostname: host, port }) => ({ host, port: Number(port) }));
  http = createOutboundHttp({ allow });
  replicate = createReplicateProvider({ http, baseUrl: simulators[0]!.url });
  kling = createKlingProvider({ http, baseUrl: simulators[1]!.url });
});
afterAll(async () => {
  await http.close();
  for (const simulator of simulators) await simulator.close();
});

function reconciler(providers: readonly Provider[]) {
  const ensured: string[] = [];
  const problems: Parameters<OnSweepProblem>[] = [];
  const swept = (provider: Provider): SweptProvider => ({
    provider,
    credentials: new Map([['main', CREDENTIAL]]),
    credential: () => CREDENTIAL,
  });
  const ctx = {
    db: test.db,
    ensure: async ({ generationId }: { generationId: string }) => void ensured.push(generationId),
    providers: new Map(providers.map((provider) => [provider.name, swept(provider)])),
    callbacks,
    onProblem: (...told: Parameters<OnSweepProblem>) => void problems.push(told),
    signal: new AbortController().signal,
  };
  return { ctx, ensured, problems };
}

/** A job that the provider has, made with this submission's callback URL or key; its id. */
async function job(provider: Provider, submission: string, ring = callbacks): Promise<string> {
  const idempotencyKey = providerIdempotencyKey(submission);
  const replicated = provider.name === 'replicate';
  const request = provider.buildSubmit({
    method: 'text-to-video',
    providerModel: replicated ? 'minimax/video-01' : 'kling-3.0',
    input: { prompt: `job of ${submission}` },
    params: {},
    callbackUrl: ring.url({ base: BASE, keyId: 'k1', provider: provider.name, submissionId: submission }),
    idempotencyKey,
  });
  const submitted = await provider.submit(request, idempotencyKey, {
    credential: CREDENTIAL,
    timeoutMs: 15_000,
  });
  if (submitted.kind !== 'accepted') throw new Error(JSON.stringify(submitted));
  return submitted.handle.jobId;
}

/** A generation whose submit at this provider was never answered. */
async function unknown(provider: Provider, deadlineSeconds = 900): Promise<string> {
  const id = await create(test.db, await newTenant(test.db), { deadlineSeconds });
  await answer(test.db, id, await send(test.db, id, { provider: provider.name }), 'unknown');
  return id;
}

const submission = (id: string) =>
  test.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(id, 1) } });

describe('the lists of providers', () => {
  it('a lost answer is attached by our callback URL or our external id, and its run is woken', async () => {
    const [lost, other] = [await unknown(replicate), await unknown(kling)];
    const jobs = [await job(replicate, submissionId(lost, 1)), await job(kling, submissionId(other, 1))];
    const { ctx, ensured, problems } = reconciler([replicate, kling]);
    expect(await reconcileJobs(ctx, NOW)).toEqual({ listed: 2, matched: 2, orphans: 0, strays: 0 });
    expect(ensured.toSorted()).toEqual([lost, other].toSorted());
    expect(problems).toEqual([]);
    for (const [i, id] of [lost, other].entries()) {
      expect(await submission(id)).toMatchObject({ state: 'accepted', providerJobId: jobs[i] });
    }
    // Nothing is left to do for those that come again.
    const again = await reconcileJobs(ctx, NOW);
    expect(again).toMatchObject({ matched: 0, orphans: 0, strays: 0 });
  });

  it('a lost answer of a generation that has ended is attached late, and its job asked once to stop', async () => {
    const id = await unknown(replicate, 0);
    const end = await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    expect(end.outcome).toBe('settled');
    const jobId = await job(replicate, submissionId(id, 1));
    const { ctx, ensured, problems } = reconciler([replicate]);
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ matched: 1, orphans: 0, strays: 0 });
    expect(await submission(id)).toMatchObject({
      state: 'abandoned',
      providerJobId: jobId,
      endedAs: 'cancelled',
      lateDueAt: null,
    });
    expect([ensured, problems]).toEqual([[], []]);
    const { jobs } = await new Control(simulators[0]!.url).journal(`job of ${submissionId(id, 1)}`);
    expect(jobs).toMatchObject([{ id: jobId, status: 'cancelled', cancels: 1 }]);
    await reconcileJobs(ctx, NOW);
    expect(
      (await new Control(simulators[0]!.url).journal()).jobs.filter((one) => one.id === jobId),
    ).toMatchObject([{ cancels: 1 }]);
  });

  it('a cancel that can’t be told leaves the planned look where it is', async () => {
    const id = await unknown(replicate, 0);
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    const jobId = await job(replicate, submissionId(id, 1));
    const deaf: Provider = {
      ...replicate,
      cancel: async () => ({ kind: 'unavailable', reason: 'http_503' }),
    };
    const { ctx } = reconciler([deaf]);
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ matched: 1 });
    const { completedAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    expect(await submission(id)).toMatchObject({
      state: 'abandoned',
      providerJobId: jobId,
      endedAs: null,
      lateDueAt: new Date(completedAt!.getTime() + 3_600_000),
    });
  });

  it('a second job is an orphan, one without a row a stray, each told once; what is not ours is left', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { provider: 'replicate' });
    const first = await job(replicate, submissionId(id, 1));
    await accept(test.db, id, first);
    const second = await job(replicate, submissionId(id, 1));
    const gone = submissionId(newId('gen'), 1);
    const stray = await job(replicate, gone);
    await job(replicate, submissionId(newId('gen'), 1), createCallbackUrls(testKeyring('k1', 9), BASE));
    await job(kling, submissionId(newId('gen'), 1));
    const { ctx } = reconciler([replicate, kling]);
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ matched: 0, orphans: 1, strays: 1 });
    expect(await test.db.prisma.orphanJob.findMany()).toMatchObject([{ providerJobId: second }]);
    expect(await test.db.prisma.strayJob.findMany()).toMatchObject([
      {
        provider: 'replicate',
        credential: 'main',
        providerJobId: stray,
        submissionId: gone,
        foundBy: 'list',
      },
    ]);
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ orphans: 0, strays: 0 });
    expect(await test.db.prisma.strayJob.count()).toBe(1);
  });

  it('an answer that comes between two passes is met again; older jobs are not read any more', async () => {
    await test.sql(`DELETE FROM sweep_mark`);
    const id = await create(test.db, await newTenant(test.db));
    const fence = await send(test.db, id, { provider: 'replicate' });
    await job(replicate, submissionId(id, 1));
    const { ctx } = reconciler([replicate]);
    const first = await reconcileJobs(ctx, NOW);
    expect(first).toMatchObject({ matched: 0, strays: 0 });
    await answer(test.db, id, fence, 'unknown');
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ matched: 1 });
    expect((await submission(id)).state).toBe('accepted');
    const third = await reconcileJobs(ctx, NOW);
    expect(third?.listed).toBe(0);
    await job(replicate, submissionId(newId('gen'), 1));
    expect(await reconcileJobs(ctx, NOW)).toMatchObject({ listed: 1, strays: 1 });
  });

  it('is one process’s within the interval; a list that cannot be had is told and read again', async () => {
    const { ctx } = reconciler([replicate]);
    await reconcileJobs(ctx, NOW);
    expect(await reconcileJobs(ctx, JOBS_DEFAULTS)).toBeNull();
    const before = await test.sql(`SELECT name, place FROM sweep_mark ORDER BY name`);
    const down: Provider = { ...replicate, list: async () => ({ kind: 'unavailable', reason: 'http_503' }) };
    const other = reconciler([down, kling]);
    expect(await reconcileJobs(other.ctx, NOW)).toMatchObject({ matched: 0 });
    expect(other.problems.map(([pass, problem, , key]) => [pass, problem, key])).toEqual([
      ['jobs', 'list_unavailable', 'replicate'],
    ]);
    const mark = (marks: readonly object[]) => marks.find((one) => JSON.stringify(one).includes('replicate'));
    expect(mark(await test.sql(`SELECT name, place FROM sweep_mark ORDER BY name`))).toEqual(mark(before));
  });

  it('a provider whose list throws stops no other; pages are bounded', async () => {
    await test.sql(`DELETE FROM sweep_mark`);
    let calls = 0;
    const broken: Provider = {
      ...replicate,
      list: async () => {
        throw new Error('defect');
      },
    };
    const endless: Provider = {
      ...kling,
      list: async () => {
        calls += 1;
        return {
          kind: 'page',
          jobs: [{ handle: { jobId: `e${calls}` }, status: 's', callbackUrl: null, externalId: null }],
          nextCursor: 'more',
        };
      },
    };
    const { ctx, problems } = reconciler([broken, endless]);
    expect(await reconcileJobs(ctx, NOW)).toEqual({ listed: 5, matched: 0, orphans: 0, strays: 0 });
    expect(calls).toBe(5);
    expect(problems.map(([pass, problem, , key]) => [pass, problem, key])).toEqual([
      ['jobs', 'pass_failed', 'replicate'],
    ]);
  });
});
