import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { settle } from '../../src/db/index.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { observeLateJobs, type LateContext } from '../../src/services/observe-late-jobs.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import { accept, answer, create, newTenant, planFor, receive, send } from '../db/fixtures.ts';
import { useDatabase } from '../db/database.ts';
import { Control, eventually } from '../simulators/control.ts';

const test = useDatabase();
let simulator: RunningSimulator;
let http: OutboundHttp;
let sim: Control;
let lateSuccesses: string[];
let ctx: LateContext;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, { renderMs: 0 });
  sim = new Control(simulator.url);
  const { hostname: host, port } = new URL(simulator.url);
  http = createOutboundHttp({ allow: [{ host, port: Number(port) }] });
  const provider = createInfroProvider({ http, baseUrl: simulator.url });
  const credential = { name: 'main', apiKey: 'sim-key' };
  lateSuccesses = [];
  ctx = {
    db: test.db,
    providers: new Map([['infro', { provider, credential: () => credential }]]),
    callbacks: { submissionOf: () => null },
    onLateSuccess: (id) => lateSuccesses.push(id),
  };
});
afterAll(async () => {
  await http.close();
  await simulator.close();
});

/** A generation that expired while its job, which has this prompt, was still under way there. */
async function expired(prompt: string, lateObservationsMs: readonly number[]) {
  const tenant = await newTenant(test.db);
  const plan = planFor();
  const timings = { ...(plan['timings'] as JsonObject), lateObservationsMs: [...lateObservationsMs] };
  const id = await create(test.db, tenant, { deadlineSeconds: 0, plan: { ...plan, timings } });
  const { provider } = ctx.providers.get('infro')!;
  const request = provider.buildSubmit({
    method: 'text-to-video',
    providerModel: 'm-video',
    input: { prompt },
    params: {},
    callbackUrl: null,
    idempotencyKey: id,
  });
  const submitted = await provider.submit(request, id, {
    credential: { name: 'main', apiKey: 'sim-key' },
    timeoutMs: 60_000,
  });
  if (submitted.kind !== 'accepted') throw new Error(submitted.kind);
  await send(test.db, id);
  await accept(test.db, id, submitted.handle.jobId);
  const end = await settle(test.db, id, { state: 'expired', errorCode: 'deadline_exceeded' });
  expect(end).toMatchObject({ outcome: 'settled', captured: 0 });
  return { id, jobId: submitted.handle.jobId };
}

const OPTIONS = { credential: { name: 'main', apiKey: 'sim-key' }, timeoutMs: 60_000 };

async function startKling() {
  const klingSim = await startSimulator(klingSimulator, { renderMs: 0 });
  const { hostname: host, port } = new URL(klingSim.url);
  const own = createOutboundHttp({ allow: [{ host, port: Number(port) }] });
  onTestFinished(() => own.close());
  return { klingSim, kling: createKlingProvider({ http: own, baseUrl: klingSim.url }) };
}

/** A generation at Kling whose submit was never answered, at its deadline. */
async function unresolved(lateObservationsMs: readonly number[]) {
  const plan = planFor();
  const timings = { ...(plan['timings'] as JsonObject), lateObservationsMs: [...lateObservationsMs] };
  const id = await create(test.db, await newTenant(test.db), {
    deadlineSeconds: 0,
    plan: { ...plan, timings },
  });
  const fence = await send(test.db, id, { provider: 'kling' });
  await answer(test.db, id, fence, 'unknown');
  const end = await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
  expect(end.outcome).toBe('settled');
  return { id, key: providerIdempotencyKey(submissionId(id, 1)) };
}

const row = (id: string) =>
  test.db.prisma.submission.findUniqueOrThrow({
    where: { id: submissionId(id, 1) },
    include: { lateSuccess: true },
  });

describe('after the end of a generation', () => {
  it('a job that succeeds late: its cost is booked, it is listed once, nothing changes for the tenant', async () => {
    const { id } = await expired('late success', [1, 60_000]);
    await eventually(async () => ((await observeLateJobs(ctx, 10)) > 0 ? true : undefined));
    const submission = await row(id);
    expect(submission).toMatchObject({ endedAs: 'succeeded', costUnit: 'USD', lateDueAt: null });
    expect(submission.costAmount?.toString()).toBe('0.25');
    expect(submission.lateSuccess).not.toBeNull();
    expect(lateSuccesses).toEqual([submissionId(id, 1)]);
    const generation = await test.db.prisma.generation.findUniqueOrThrow({
      where: { id },
      include: { hold: true },
    });
    expect(generation).toMatchObject({ state: 'expired', hold: { state: 'released', captured: 0n } });
    expect(await observeLateJobs(ctx, 10)).toBe(0);
  });

  it('a job that is still under way is looked at again at the next time, and no more after the last', async () => {
    await sim.fault('still under way', { kind: 'stuck' });
    const { id } = await expired('still under way', [1, 150]);
    await eventually(async () => ((await observeLateJobs(ctx, 10)) > 0 ? true : undefined));
    expect(await row(id)).toMatchObject({ lateCount: 1, endedAt: null });
    expect((await row(id)).lateDueAt).not.toBeNull();
    await eventually(async () => ((await observeLateJobs(ctx, 10)) > 0 ? true : undefined));
    expect(await row(id)).toMatchObject({ lateCount: 2, lateDueAt: null, lateSuccess: null });
  });

  it('a look that fails counts for none and comes again', async () => {
    await sim.fault('away', { kind: 'observe_5xx', times: 1 });
    const { id } = await expired('away', [1]);
    await eventually(async () => ((await observeLateJobs(ctx, 10)) > 0 ? true : undefined));
    const submission = await row(id);
    expect(submission).toMatchObject({ lateCount: 0, endedAt: null });
    expect(submission.lateDueAt!.getTime() - Date.now()).toBeGreaterThan(500_000);
  });

  it('a callback that tells the end brings the look forward', async () => {
    const { id, jobId } = await expired('told by a callback', [3_600_000]);
    expect(await observeLateJobs(ctx, 10)).toBe(0);
    await receive(test.db, { submissionId: submissionId(id, 1), jobId, terminal: true });
    expect(await observeLateJobs(ctx, 10)).toBe(1);
    expect((await row(id)).lateSuccess).not.toBeNull();
  });

  it('a credential that is gone is said, and counts as a look that failed', async () => {
    const { id } = await expired('credential gone', [1]);
    const { provider } = ctx.providers.get('infro')!;
    const without = { ...ctx, providers: new Map([['infro', { provider, credential: () => undefined }]]) };
    await eventually(async () => {
      const due = await test.sql(`SELECT 1 FROM submission WHERE late_due_at <= now()`);
      return due.length > 0 ? true : undefined;
    });
    await expect(observeLateJobs(without, 10)).rejects.toThrow(/configure it again/);
    const { lateDueAt, problem } = await row(id);
    expect(problem).toBe('unknown_credential');
    expect(lateDueAt!.getTime() - Date.now()).toBeGreaterThan(500_000);
  });

  it('jobs of a provider that is not configured here are left to those that know it', async () => {
    await expired('of another worker', [1]);
    await eventually(async () => {
      const due = await test.sql(`SELECT 1 FROM submission WHERE late_due_at <= now()`);
      return due.length > 0 ? true : undefined;
    });
    expect(await observeLateJobs({ ...ctx, providers: new Map() }, 10)).toBe(0);
    expect(await observeLateJobs(ctx, 10)).toBe(1);
  });

  it('a job that was never known is found by our own id, looked at, and listed', async () => {
    const { klingSim, kling } = await startKling();
    const { id, key } = await unresolved([1, 200]);
    const request = kling.buildSubmit({
      method: 'text-to-video',
      providerModel: 'kling-3.0',
      input: { prompt: 'never known' },
      params: {},
      callbackUrl: null,
      idempotencyKey: key,
    });
    expect((await kling.submit(request, key, OPTIONS)).kind).toBe('accepted');
    const both = {
      ...ctx,
      providers: new Map([['kling', { provider: kling, credential: () => OPTIONS.credential }]]),
    };
    await eventually(async () => {
      await observeLateJobs(both, 10);
      const { lateSuccess } = await row(id);
      return lateSuccess === null ? undefined : true;
    });
    expect(await row(id)).toMatchObject({ state: 'abandoned', endedAs: 'succeeded', lateDueAt: null });
    await klingSim.close();
  });

  it('one that nobody has is searched at each time, and no more after the last', async () => {
    const { klingSim, kling } = await startKling();
    const { id } = await unresolved([1, 100]);
    const both = {
      ...ctx,
      providers: new Map([['kling', { provider: kling, credential: () => OPTIONS.credential }]]),
    };
    await eventually(async () => {
      await observeLateJobs(both, 10);
      const { lateDueAt } = await row(id);
      return lateDueAt === null ? true : undefined;
    });
    expect(await row(id)).toMatchObject({ lateCount: 2, state: 'unknown', providerJobId: null });
    await klingSim.close();
  });

  it('a search that the provider did not answer counts for none and comes again, once a job was named within a minute', async () => {
    const { klingSim, kling } = await startKling();
    await klingSim.close();
    const { id } = await unresolved([1]);
    const both = {
      ...ctx,
      providers: new Map([['kling', { provider: kling, credential: () => OPTIONS.credential }]]),
    };
    const pass = () => eventually(async () => ((await observeLateJobs(both, 10)) > 0 ? true : undefined));
    await pass();
    const away = await row(id);
    expect(away).toMatchObject({ lateCount: 0, state: 'unknown', providerJobId: null });
    expect(away.lateDueAt!.getTime() - Date.now()).toBeGreaterThan(500_000);
    await receive(test.db, {
      provider: 'kling',
      submissionId: submissionId(id, 1),
      jobId: '893605946402811985',
    });
    await pass();
    const named = await row(id);
    // The callback's own look took the place of none that is planned, so the next one is the first again.
    expect(named).toMatchObject({ lateCount: -1, problem: 'named_job_unavailable' });
    expect(named.lateDueAt!.getTime() - Date.now()).toBeLessThanOrEqual(60_001);
    await test.sql('UPDATE submission SET late_due_at = NULL');
  });

  it('a search without its credential counts for none either', async () => {
    const { klingSim, kling } = await startKling();
    const { id } = await unresolved([1]);
    const without = {
      ...ctx,
      providers: new Map([['kling', { provider: kling, credential: () => undefined }]]),
    };
    await expect(eventually(() => observeLateJobs(without, 10).then(() => undefined))).rejects.toThrow(
      /configure it again/,
    );
    const { lateCount, lateDueAt } = await row(id);
    expect(lateCount).toBe(0);
    expect(lateDueAt!.getTime() - Date.now()).toBeGreaterThan(500_000);
    await klingSim.close();
  });
});
