import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { sendSubmission } from '../../src/activities/send.ts';
import { look } from '../../src/activities/submit.ts';
import { countWaitingJobs, loadGeneration, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { accepted, answer, create, newTenant, planFor, receive, send } from '../db/fixtures.ts';
import { useDatabase } from '../db/database.ts';
import { Control } from '../simulators/control.ts';

const test = useDatabase();
const CREDENTIAL = { name: 'main', apiKey: 'sim-key' };
const warned: string[] = [];
let simulator: RunningSimulator;
let http: OutboundHttp;
let sim: Control;
let deps: ActivityDeps;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, { renderMs: 60_000 });
  sim = new Control(simulator.url);
  const { hostname: host, port } = new URL(simulator.url);
  http = createOutboundHttp({ allow: [{ host, port: Number(port) }] });
  const provider = createInfroProvider({ http, baseUrl: simulator.url });
  const log = { info: () => {}, error: () => {}, warn: (_: object, message: string) => warned.push(message) };
  const access = { provider, current: CREDENTIAL, credential: () => CREDENTIAL };
  // Only what these steps use; the rest is never touched.
  deps = {
    db: test.db,
    providers: new Map([['infro', access]]),
    callbacks: { current: () => null, url: () => null, submissionOf: () => null },
    log,
    random: () => 0.5,
  } as unknown as ActivityDeps;
});
afterAll(async () => {
  await http.close();
  await simulator.close();
});

async function sendNow(id: string, over: Partial<ActivityDeps> = {}) {
  const loaded = await loadGeneration(test.db, { generationId: id, dueInMs: 20_000 });
  return sendSubmission({ ...deps, ...over }, loaded!, 0, false);
}

describe('a submit that we could not send ourselves', () => {
  it('for a key that has left KEYRING: nothing leaves, it is tried again, the provider’s circuit stays closed', async () => {
    const callbacks = {
      current: () => ({ base: 'https://here.example', keyId: 'gone' }),
      url: () => null,
      secret: () => null,
      submissionOf: () => null,
    };
    for (let n = 0; n < 6; n += 1) {
      const id = await create(test.db, await newTenant(test.db));
      expect(await sendNow(id, { callbacks })).toMatchObject({ step: 'submit', reason: 'not_sent' });
      const row = await test.db.prisma.submission.findUniqueOrThrow({ where: { id: submissionId(id, 1) } });
      expect(row).toMatchObject({ state: 'prepared', problem: 'callback_key_missing', firstSentAt: null });
    }
    expect((await sim.journal()).requests).toEqual([]);
    expect(await test.db.prisma.providerCircuit.count()).toBe(0);
  });
});

describe('a refusal for good with no route left', () => {
  it.each([
    [{ kind: 'refuse', status: 403 } as const, 'provider_rejected'],
    [{ kind: 'refuse_content' } as const, 'content_rejected'],
  ])('%j is settled from there, behind nobody’s queue', async (fault, errorCode) => {
    await sim.post('faults', { ...fault, times: 1 });
    const plan = planFor();
    const [route] = plan.routes;
    const routes =
      errorCode === 'content_rejected' ? [route!, { ...route!, provider: 'aigenway' }] : [route!];
    const id = await create(test.db, await newTenant(test.db), { plan: { ...plan, routes } });
    const step = await sendNow(id);
    expect(step).toMatchObject({ step: 'settle', proposal: { state: 'failed', errorCode } });
    const proposal = { state: 'failed', errorCode } as Parameters<typeof settle>[2];
    expect(await settle(test.db, id, proposal)).toMatchObject({ outcome: 'settled', captured: 0 });
  });
});

describe('a refusal after a lost answer', () => {
  it('proves nothing: the same bytes are sent again, after a pause that grows with the tries', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const fence = await send(test.db, id, { callbackBase: null, callbackKeyId: null });
    await answer(test.db, id, fence, 'unknown');
    const pauses: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      await sim.post('faults', { kind: 'refuse', status: 402, times: 1 });
      const step = await sendNow(id);
      expect(step).toMatchObject({ step: 'submit', reason: 'submission_unknown' });
      if (step.step === 'submit') pauses.push(step.inMs);
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000]);
  });
});

describe('a generation that has ended', () => {
  it('a callback that names its job lets the run end, also when the credential is gone', async () => {
    const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 0 });
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    await receive(test.db, { submissionId: submissionId(id, 1), jobId: 'job_named', terminal: true });
    const input = { generationId: id, cancelPressed: false, attach: null };
    const without = { ...deps, providers: new Map() };
    expect(await look(without, input)).toEqual({ step: 'done', state: 'expired' });
    expect(warned).toEqual(['a job named after the end could not be attached']);
  });

  it('takes no share of the poll budget, however long its job is not known to have ended', async () => {
    const before = (await countWaitingJobs(test.db))['infro'] ?? 0;
    const tenant = await newTenant(test.db);
    await accepted(test.db, tenant);
    const ended = await accepted(test.db, tenant, { deadlineSeconds: 0 });
    expect((await countWaitingJobs(test.db))['infro']).toBe(before + 2);
    await settle(test.db, ended, { state: 'expired', errorCode: 'deadline_exceeded' });
    expect((await countWaitingJobs(test.db))['infro']).toBe(before + 1);
  });
});
