import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createCallbackUrls } from '../../src/domain/callback-urls.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { freezeSubmit } from '../../src/providers/frozen-submit.ts';
import { createAigenwayProvider } from '../../src/providers/aigenway.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { recoverGenerations } from '../../src/services/recover-generations.ts';
import type { RecoverDeps, RecoverInput } from '../../src/services/recover-generations.ts';
import type { Trace } from '../../src/temporal/histories.ts';
import { useDatabase } from '../db/database.ts';
import { facts, submissionOf } from '../db/facts.ts';
import { accepted, answer, create, newTenant, planFor, send } from '../db/fixtures.ts';

const test = useDatabase();
const http = createOutboundHttp({ allow: [] });
afterAll(() => http.close());
const keyring = parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const links = createFileLinks(keyring, 'https://here.example');
const current = { name: 'main', apiKey: 'key' };
const infro = createInfroProvider({ http, baseUrl: 'https://infro.example' });
const kling = createKlingProvider({ http, baseUrl: 'https://kling.example' });
const aigenway = createAigenwayProvider({ http, baseUrl: 'https://aigenway.example' });
const providers: RecoverDeps['providers'] = new Map(
  [infro, aigenway].map((provider) => [provider.name, { provider, current }]),
);

const NOTHING: Trace = { jobs: [], lastSubmit: null, refused: [] };
const traces = new Map<string, Trace>();
let runs: string[] = [];
const since: Date[] = [];
const deps = (over: Partial<RecoverDeps> = {}): RecoverDeps => ({
  db: test.db,
  providers,
  callbacks: createCallbackUrls(keyring, 'https://here.example'),
  links,
  trace: async (id) => traces.get(id) ?? NOTHING,
  async *runsSince(at) {
    since.push(at);
    for (const generationId of runs) yield { generationId, runId: 'run' };
  },
  ...over,
});

afterEach(() => {
  traces.clear();
  runs = [];
  since.length = 0;
});

const input = (over: Partial<RecoverInput> = {}): RecoverInput => ({
  restoredAt: new Date(),
  dryRun: false,
  actor: 'cli:ann',
  reason: 'disk lost',
  ...over,
});
const plan = { ...planFor(), routes: routesTo('infro', 'aigenway') };
function routesTo(...names: readonly string[]) {
  const models: Record<string, string> = { infro: 'm-video', aigenway: 'kling-v2-master' };
  return names.map((provider) => ({
    provider,
    providerModel: models[provider] ?? 'kling-3.0',
    callbacks: true,
    params: provider === 'aigenway' ? { provider: 'kling' } : {},
    estimatedCost: { amount: '0.25', unit: 'USD' },
  }));
}
const started = async (over: Parameters<typeof create>[2] = {}) =>
  create(test.db, await newTenant(test.db), {
    plan,
    input: { prompt: 'a cat', duration_seconds: 5 },
    ...over,
  });

/** The report's part about one generation; those of earlier tests are in it, too. */
async function recover(id: string, over: Partial<RecoverInput> = {}, changed: Partial<RecoverDeps> = {}) {
  const report = await recoverGenerations(deps(changed), input(over));
  return {
    row: report.rows.find(({ generation }) => generation === id),
    failed: report.failed.find(({ generation }) => generation === id)?.problem,
    gone: report.gone.find(({ generation }) => generation === id),
  };
}
const submissionsOf = (id: string) =>
  test.db.prisma.submission.findMany({ where: { generationId: id }, orderBy: { ordinal: 'asc' } });

describe('which submission may have been sent since the dump', () => {
  it('without any: the first, at the first route', async () => {
    const id = await started();
    const { row } = await recover(id);
    expect(row).toMatchObject({
      submission: submissionId(id, 1),
      provider: 'infro',
      was: 'none',
      now: 'unknown',
    });
    const made = freezeSubmit(
      { provider: infro, credential: current, callbacks: deps().callbacks, links },
      {
        generation: { id, input: { prompt: 'a cat', duration_seconds: 5 }, plan },
        route: plan.routes[0]!,
        ordinal: 1,
        inputs: [],
      },
    );
    expect(await submissionOf(test.db, id)).toMatchObject({
      credential: 'main',
      request: made.request,
      idempotencyKey: made.idempotencyKey,
      callbackBase: 'https://here.example',
      callbackKeyId: 'k1',
      costAmount: '0.25',
    });
  });

  it('open: that one, also where its provider is not configured here', async () => {
    const id = await started({ plan: { ...plan, routes: routesTo('kling') } });
    await answer(test.db, id, await send(test.db, id, { provider: 'kling' }), 'capacity');
    expect((await recover(id)).row).toMatchObject({
      submission: submissionId(id, 1),
      was: 'prepared',
      now: 'unknown',
    });
  });

  it('refused: the next one, at the next route; refused by all: none', async () => {
    const [next, none] = [await started(), await started({ plan: { ...plan, routes: routesTo('infro') } })];
    for (const id of [next, none]) await answer(test.db, id, await send(test.db, id), 'refused');
    expect((await recover(next)).row).toMatchObject({
      submission: submissionId(next, 2),
      provider: 'aigenway',
    });
    const before = await facts(test.db, none);
    expect(await recover(none)).toEqual({ row: undefined, failed: undefined, gone: undefined });
    expect(await facts(test.db, none)).toEqual(before);
  });

  it('a history tells of a later try: that one, and what the dump had open is abandoned', async () => {
    const id = await started();
    await answer(test.db, id, await send(test.db, id), 'capacity');
    traces.set(id, { ...NOTHING, lastSubmit: { provider: 'aigenway', submissionId: submissionId(id, 2) } });
    expect((await recover(id)).row).toMatchObject({
      submission: submissionId(id, 2),
      provider: 'aigenway',
      was: 'moved',
    });
    expect((await submissionsOf(id)).map(({ state, routeIndex }) => [state, routeIndex])).toEqual([
      ['abandoned', 0],
      ['unknown', 1],
    ]);
  });

  it('in flight at a later route: the one after those that were refused', async () => {
    const [refused, closed] = [await started(), await started()];
    const lastSubmit = { provider: 'aigenway', submissionId: null };
    traces.set(refused, { jobs: [], lastSubmit, refused: [submissionId(refused, 1)] });
    // Passed over while its provider was closed: there was no submission at the first route.
    traces.set(closed, { jobs: [], lastSubmit, refused: [] });
    expect((await recover(refused)).row).toMatchObject({
      submission: submissionId(refused, 2),
      provider: 'aigenway',
    });
    expect((await recover(closed)).row).toMatchObject({
      submission: submissionId(closed, 1),
      provider: 'aigenway',
    });
  });

  it('at a provider that its plan does not name: by the rows alone', async () => {
    const id = await started();
    traces.set(id, { ...NOTHING, lastSubmit: { provider: 'runway', submissionId: null } });
    expect((await recover(id)).row).toMatchObject({ submission: submissionId(id, 1), provider: 'infro' });
  });

  it('none where it has its job, was created since, or was over before the dump', async () => {
    const tenant = await newTenant(test.db);
    const has = await accepted(test.db, tenant);
    const over = await started({ deadlineSeconds: 0 });
    const [beforeHas, beforeOver] = [await facts(test.db, has), await facts(test.db, over)];
    expect((await recover(has)).row).toBeUndefined();
    expect((await recover(over)).row).toBeUndefined();
    const younger = await started();
    const { createdAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id: younger } });
    expect((await recover(younger, { restoredAt: new Date(createdAt.getTime() - 1) })).row).toBeUndefined();
    expect([await facts(test.db, has), await facts(test.db, over)]).toEqual([beforeHas, beforeOver]);
    expect(await submissionsOf(younger)).toEqual([]);
  });
});

describe('what can not be recovered is told, and holds up no other', () => {
  it('a provider without settings, a plan that can not be read', async () => {
    const unset = await started({ plan: { ...plan, routes: routesTo('kling') } });
    const unreadable = await started({ plan: { ...plan, expectedDurationSeconds: 0 } });
    const fine = await started();
    const report = await recoverGenerations(deps(), input());
    expect(report.failed).toEqual(
      expect.arrayContaining([
        { generation: unset, problem: 'no PROVIDER_… settings of kling here' },
        { generation: unreadable, problem: 'unreadable_plan' },
      ]),
    );
    expect(report.rows.map(({ generation }) => generation)).toContain(fine);
    expect(await submissionsOf(unset)).toEqual([]);
    const withKling = new Map([...providers, ['kling', { provider: kling, current }]] as const);
    expect((await recover(unset, {}, { providers: withKling })).row).toMatchObject({ provider: 'kling' });
  });
});

describe('jobs that histories name', () => {
  it('attached; a step of an older version tells no submission, then the provider must be the same', async () => {
    const [told, older, other] = [await started(), await started(), await started()];
    const job = (id: string, provider: string, over: object = {}) => ({
      ...NOTHING,
      jobs: [{ provider, jobId: `job-of-${id}`, submissionId: null, ...over }],
    });
    traces.set(told, job(told, 'infro', { submissionId: submissionId(told, 1) }));
    traces.set(older, job(older, 'infro'));
    traces.set(other, job(other, 'kling'));
    const { rows } = await recoverGenerations(deps(), input());
    const rowOf = (id: string) => rows.find(({ generation }) => generation === id);
    for (const id of [told, older]) {
      expect(rowOf(id)).toMatchObject({ now: 'attached', jobs: [{ outcome: 'attached' }] });
      expect(await submissionOf(test.db, id)).toMatchObject({
        state: 'accepted',
        providerJobId: `job-of-${id}`,
      });
      expect(await facts(test.db, id)).toMatchObject({ stage: 'waiting', hold: 'held' });
    }
    expect(rowOf(other)).toMatchObject({ now: 'unknown', jobs: [{ outcome: 'stray' }] });
    expect(await submissionOf(test.db, other)).toMatchObject({ state: 'unknown', providerJobId: null });
  });

  it('a second job of one submission is an orphan, a job of two generations is told', async () => {
    const [two, thief] = [await started(), await started()];
    const named = (jobId: string) => ({ provider: 'infro', jobId, submissionId: null });
    traces.set(two, { ...NOTHING, jobs: [named(`first-${two}`), named(`second-${two}`)] });
    expect((await recover(two)).row?.jobs.map(({ outcome }) => outcome)).toEqual(['attached', 'second']);
    traces.set(thief, { ...NOTHING, jobs: [named(`first-${two}`)] });
    expect((await recover(thief)).row).toMatchObject({ now: 'unknown', jobs: [{ outcome: 'taken' }] });
    expect(await submissionOf(test.db, two)).toMatchObject({ providerJobId: `first-${two}` });
    expect(await test.db.prisma.orphanJob.count({ where: { providerJobId: `second-${two}` } })).toBe(1);
  });

  it('jobs of runs without a row go on record, from runs that were started since', async () => {
    const [known, gone] = [await started(), newId('gen', Date.now())];
    runs = [known, gone, gone];
    const jobId = `job-of-${gone}`;
    traces.set(gone, {
      ...NOTHING,
      jobs: [{ provider: 'infro', jobId, submissionId: submissionId(gone, 1) }],
    });
    const restoredAt = new Date();
    expect((await recover(gone, { dryRun: true, restoredAt })).gone?.jobs).toMatchObject([
      { outcome: 'stray', jobId },
    ]);
    expect(await test.db.prisma.strayJob.count({ where: { providerJobId: jobId } })).toBe(0);
    const first = await recover(gone, { restoredAt });
    expect([first.gone?.jobs.length, (await recover(known)).gone]).toEqual([1, undefined]);
    expect((await recover(gone)).gone?.jobs).toEqual([]);
    expect(await test.db.prisma.strayJob.findMany({ where: { providerJobId: jobId } })).toMatchObject([
      { provider: 'infro', credential: 'main', submissionId: submissionId(gone, 1), foundBy: 'history' },
    ]);
    expect(since[0]!.getTime()).toBeLessThanOrEqual(restoredAt.getTime() - 60_000);
  });

  it('without Temporal nothing is attached, all else is done', async () => {
    const id = await started();
    traces.set(id, { ...NOTHING, jobs: [{ provider: 'infro', jobId: 'unread', submissionId: null }] });
    runs = [newId('gen', Date.now())];
    const { row } = await recover(id, {}, { trace: null });
    expect(row).toMatchObject({ now: 'unknown', jobs: [] });
    expect(since).toEqual([]);
  });
});

describe('a dry run', () => {
  it('tells the same and changes nothing', async () => {
    const id = await started();
    traces.set(id, { ...NOTHING, jobs: [{ provider: 'infro', jobId: `dry-${id}`, submissionId: null }] });
    const before = await facts(test.db, id);
    const trial = await recover(id, { dryRun: true });
    expect([await facts(test.db, id), await submissionsOf(id)]).toEqual([before, []]);
    expect((await recover(id)).row).toEqual(trial.row);
    expect(await submissionOf(test.db, id)).toMatchObject({ providerJobId: `dry-${id}` });
  });
});
