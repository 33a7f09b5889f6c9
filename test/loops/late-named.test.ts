import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/db/index.ts';
import { attachJobByOperator } from '../../src/db/operator-actions.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { observeLateJobs, type LateContext } from '../../src/services/observe-late-jobs.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { useDatabase } from '../db/database.ts';
import { answer, create, newTenant, planFor, receive, send } from '../db/fixtures.ts';
import { Control, eventually } from '../simulators/control.ts';

const test = useDatabase();
const OPTIONS = { credential: { name: 'main', apiKey: 'sim-key' }, timeoutMs: 15_000 };
const PLANNED_MS = [3_600_000, 7_200_000];
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
  ctx = {
    db: test.db,
    providers: new Map([['infro', { provider, credential: () => OPTIONS.credential }]]),
    callbacks: { submissionOf: () => null },
    onLateSuccess: (id) => lateSuccesses.push(id),
  };
});
afterAll(async () => {
  await http.close();
  await simulator.close();
});
// What one test left due would be looked at, and counted, in another.
beforeEach(async () => {
  lateSuccesses = [];
  await test.sql('UPDATE submission SET late_due_at = NULL WHERE late_due_at IS NOT NULL');
});

/** A generation that expired while nobody knew whether its provider had taken it; the next search is an hour away. */
async function unresolved(): Promise<string> {
  const plan = planFor();
  const timings = { ...(plan['timings'] as JsonObject), lateObservationsMs: PLANNED_MS };
  const id = await create(test.db, await newTenant(test.db), {
    deadlineSeconds: 0,
    plan: { ...plan, timings },
  });
  await answer(test.db, id, await send(test.db, id), 'unknown');
  const end = await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
  expect(end.outcome).toBe('settled');
  return id;
}

/** A job that the provider has for this prompt; its id there. */
async function jobOf(prompt: string): Promise<string> {
  const { provider } = ctx.providers.get('infro')!;
  const key = randomUUID();
  const request = provider.buildSubmit({
    method: 'text-to-video',
    providerModel: 'm-video',
    input: { prompt },
    params: {},
    callbackUrl: null,
    idempotencyKey: key,
  });
  const submitted = await provider.submit(request, key, OPTIONS);
  if (submitted.kind !== 'accepted') throw new Error(submitted.kind);
  return submitted.handle.jobId;
}

async function attach(generationId: string, jobId: string): Promise<void> {
  const by = { generationId, actor: 'cli:ann', reason: 'seen in the console', submission: null };
  expect(await attachJobByOperator(test.db, { ...by, jobId })).toMatchObject({
    outcome: 'done',
    effect: 'attaching_late',
  });
}
/** A callback that names a job which it does not tell the end of. */
const name = (id: string, jobId: string) => receive(test.db, { submissionId: submissionId(id, 1), jobId });

const pass = () => eventually(async () => ((await observeLateJobs(ctx, 10)) > 0 ? true : undefined), 60_000);
const row = (id: string) =>
  test.db.prisma.submission.findUniqueOrThrow({
    where: { id: submissionId(id, 1) },
    include: { lateSuccess: true },
  });
const inMs = ({ lateDueAt }: { readonly lateDueAt: Date | null }) => lateDueAt!.getTime() - Date.now();
/** The paths that were asked for since then, of these jobs. */
const asked = async (jobId: string) =>
  (await sim.journal()).requests.filter(({ method, path }) => method === 'GET' && path.includes(jobId))
    .length;

describe('a job that was named for a submission whose answer was lost', () => {
  it('has succeeded: attached, booked, listed once; the tenant’s generation stays as it ended', async () => {
    const id = await unresolved();
    const jobId = await jobOf('named, succeeded');
    await attach(id, jobId);
    await pass();
    const found = await row(id);
    expect(found).toMatchObject({
      state: 'abandoned',
      providerJobId: jobId,
      endedAs: 'succeeded',
      lateDueAt: null,
    });
    expect([found.costAmount?.toString(), found.costUnit]).toEqual(['0.25', 'USD']);
    expect(found.lateSuccess).not.toBeNull();
    expect(lateSuccesses).toEqual([submissionId(id, 1)]);
    expect(
      await test.db.prisma.generation.findUniqueOrThrow({ where: { id }, include: { hold: true } }),
    ).toMatchObject({ state: 'expired', hold: { state: 'released', captured: 0n } });
    expect(await observeLateJobs(ctx, 10)).toBe(0);
  });

  it('is under way: attached, and asked to stop', async () => {
    await sim.fault('named, under way', { kind: 'stuck' });
    const id = await unresolved();
    const jobId = await jobOf('named, under way');
    await attach(id, jobId);
    await pass();
    expect(await row(id)).toMatchObject({ state: 'abandoned', providerJobId: jobId, endedAs: 'cancelled' });
    expect((await sim.journal('named, under way')).jobs).toMatchObject([{ id: jobId, status: 'cancelled' }]);
    expect(lateSuccesses).toEqual([]);
  });

  it('is not there: said, and searched for again at the next planned time', async () => {
    const id = await unresolved();
    await attach(id, 'job-of-nobody');
    await pass();
    const found = await row(id);
    expect(found).toMatchObject({
      state: 'unknown',
      providerJobId: null,
      problem: 'named_job_not_found',
      lateCount: 1,
    });
    expect(inMs(found)).toBeGreaterThan(PLANNED_MS[0]!);
    expect(await observeLateJobs(ctx, 10)).toBe(0);
  });

  it('cannot be asked for: said, asked for again in a minute, and attached then', async () => {
    await sim.fault('named, away', { kind: 'observe_5xx', times: 1 });
    const id = await unresolved();
    const jobId = await jobOf('named, away');
    await attach(id, jobId);
    await pass();
    const away = await row(id);
    expect(away).toMatchObject({ providerJobId: null, problem: 'named_job_unavailable', lateCount: 0 });
    expect(inMs(away)).toBeLessThanOrEqual(60_001);
    await test.sql(`UPDATE submission SET late_due_at = now() WHERE id = $1`, [submissionId(id, 1)]);
    await pass();
    expect(await row(id)).toMatchObject({ providerJobId: jobId, endedAs: 'succeeded' });
  });

  it('of several, the latest that the provider knows; each is asked for once, at most two', async () => {
    const [one, two] = [await unresolved(), await unresolved()];
    const [first, second] = [await jobOf('named by a callback'), await jobOf('named too long ago')];
    await name(one, first);
    await name(one, `stray-${one}`);
    await attach(one, `stray-${one}`);
    await pass();
    expect(await row(one)).toMatchObject({ providerJobId: first, endedAs: 'succeeded' });
    expect(await asked(`stray-${one}`)).toBe(1);

    await name(two, second);
    await name(two, `stray-${two}`);
    await attach(two, `other-${two}`);
    await pass();
    expect(await row(two)).toMatchObject({ providerJobId: null, problem: 'named_job_not_found' });
    expect([await asked(`other-${two}`), await asked(`stray-${two}`), await asked(second)]).toEqual([
      1, 1, 0,
    ]);
  });
});
