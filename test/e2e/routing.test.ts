import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { setProviderBudget } from '../../src/db/index.ts';
import type { RunFacts } from '../../src/db/index.ts';
import { grantCredits } from '../../src/services/grant-credits.ts';
import { wakeGeneration } from '../../src/services/wake-generation.ts';
import { unhurriedCatalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ensured } from '../support/ensured.ts';
import { recordHistory } from '../support/history.ts';
import { detailsOf } from '../support/run-details.ts';
import { ask, call, expectInvariants, get, untilEnd, uniquePrompt } from '../support/generations.ts';
import { eventually } from '../simulators/control.ts';

const OPEN_MS = 3_000;
const timings = { circuitFailures: 3, circuitOpenMs: OPEN_MS };
const catalogue = catalogueSchema.parse({
  models: unhurriedCatalogue.models.map((model) => ({ ...model, timings: { ...model.timings, ...timings } })),
});

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue });
});
afterAll(() => room?.stop());

const submissions = (generationId: string) =>
  room.db.prisma.submission.findMany({ where: { generationId }, orderBy: { ordinal: 'asc' } });

async function jobs(prompt: string): Promise<{ infro: number; aigenway: number }> {
  const [first, second] = await Promise.all([
    room.sims['infro']!.journal(prompt),
    room.sims['aigenway']!.journal(prompt),
  ]);
  return { infro: first.jobs.length, aigenway: second.jobs.length };
}

/** Brings INFRO's circuit back to closed, as a success there does. */
async function healthy(): Promise<void> {
  await room.db.prisma.providerCircuit.deleteMany();
}

describe('failover inside one hold', () => {
  it('refused for good by the first: the next one takes it, same id, one capture', async () => {
    await healthy();
    const prompt = uniquePrompt('refused at first');
    await room.sim.fault(prompt, {
      kind: 'refuse',
      status: 400,
      type: 'invalid_request_error',
      code: 'model_not_found',
    });
    const { id } = await ask(room, 'two-providers', prompt);
    const end = await untilEnd(room, id);
    expect(end).toMatchObject({ state: 'succeeded', credits: { captured: 40, released: 0 }, provider: null });
    expect(await jobs(prompt)).toEqual({ infro: 0, aigenway: 1 });
    expect((await submissions(id)).map(({ provider, state }) => [provider, state])).toEqual([
      ['infro', 'refused'],
      ['aigenway', 'accepted'],
    ]);
    const run = await room.client.workflow.getHandle(id).describe();
    expect(run.searchAttributes['Provider']).toEqual(['aigenway']);
    expect(run.historyLength).toBeLessThanOrEqual(50);
    await recordHistory(room, id, 'failover');
    await expectInvariants(room);
  });

  it('content that is rejected is not carried on to another provider', async () => {
    await healthy();
    const prompt = uniquePrompt('rejected content');
    await room.sim.fault(prompt, { kind: 'refuse_content' });
    const { id } = await ask(room, 'two-providers', prompt);
    expect(await untilEnd(room, id)).toMatchObject({
      state: 'failed',
      error: { code: 'content_rejected' },
      credits: { captured: 0, released: 40 },
    });
    expect(await jobs(prompt)).toEqual({ infro: 0, aigenway: 0 });
  });

  it('an unknown submit is never tried elsewhere', async () => {
    await healthy();
    const prompt = uniquePrompt('unknown stays');
    await room.sim.fault(prompt, { kind: 'reset_after_accept', times: 2 });
    const { id } = await ask(room, 'two-providers', prompt);
    expect(await untilEnd(room, id)).toMatchObject({ state: 'succeeded' });
    expect(await jobs(prompt)).toEqual({ infro: 1, aigenway: 0 });
  });

  it('both refuse: failed with the last refusal, released', async () => {
    await healthy();
    const prompt = uniquePrompt('refused by all');
    const refusal = {
      kind: 'refuse',
      status: 400,
      type: 'invalid_request_error',
      code: 'model_not_found',
    } as const;
    await room.sim.fault(prompt, refusal);
    await room.sims['aigenway']!.fault(prompt, { kind: 'refuse', status: 422 });
    const { id } = await ask(room, 'two-providers', prompt);
    const end = await untilEnd(room, id);
    expect(end).toMatchObject({ state: 'failed', credits: { captured: 0, released: 40 } });
    expect((await submissions(id)).map(({ state }) => state)).toEqual(['refused', 'refused']);
    await healthy();
  });

  it('a provider that the tenant names is the only one, and is shown', async () => {
    await healthy();
    const prompt = uniquePrompt('named');
    const { id } = await ask(room, 'two-providers', prompt, { provider: 'aigenway' });
    expect(await untilEnd(room, id)).toMatchObject({ state: 'succeeded', provider: 'aigenway' });
    expect(await jobs(prompt)).toEqual({ infro: 0, aigenway: 1 });
  });
});

describe('circuit', () => {
  it('failures in a row shut a provider: others go on with the next one; a probe opens it again', async () => {
    await healthy();
    const failing = uniquePrompt('gateway down');
    await room.sim.fault(failing, { kind: 'status_5xx', status: 503 });
    const stuck = await ask(room, 'two-providers', failing);
    await eventually(async () => {
      const row = await room.db.prisma.providerCircuit.findUnique({ where: { provider: 'infro' } });
      return row !== null && row.openUntil !== null ? row : undefined;
    }, 90_000);
    // Until it is let go on below, however slow the machine.
    const opensAt = (openUntil: Date) =>
      room.db.prisma.providerCircuit.update({ where: { provider: 'infro' }, data: { openUntil } });
    await opensAt(new Date(Date.now() + 600_000));
    const prompt = uniquePrompt('while it is open');
    const aside = await ask(room, 'two-providers', prompt);
    expect(await untilEnd(room, aside.id)).toMatchObject({ state: 'succeeded' });
    expect(await jobs(prompt)).toEqual({ infro: 0, aigenway: 1 });

    await call(room, 'DELETE', `/v1/generations/${stuck.id}`);
    await room.sim.post('reset');
    await opensAt(new Date());
    const probe = uniquePrompt('the probe');
    await eventually(async () => {
      const { id } = await ask(room, 'two-providers', probe);
      await untilEnd(room, id);
      return (await jobs(probe)).infro > 0 ? true : undefined;
    }, 90_000);
    const circuit = await room.db.prisma.providerCircuit.findUnique({ where: { provider: 'infro' } });
    expect(circuit).toMatchObject({ failures: 0, openUntil: null });
  });
});

describe('budget of the day', () => {
  it('spent: the next provider takes it; with none the generation waits, can be cancelled, and goes on when it is lifted', async () => {
    await healthy();
    const budget = { provider: 'infro', unit: 'USD', reason: 'test', actor: 'test' };
    await setProviderBudget(room.db, { ...budget, amountPerDay: '0' });
    const prompt = uniquePrompt('over the budget');
    const elsewhere = await ask(room, 'two-providers', prompt);
    expect(await untilEnd(room, elsewhere.id)).toMatchObject({ state: 'succeeded' });
    expect(await jobs(prompt)).toEqual({ infro: 0, aigenway: 1 });

    const [waiting, cancelled] = await Promise.all([
      ask(room, 'by-callback', uniquePrompt('waits for the budget'), { deadline_seconds: 600 }),
      ask(room, 'by-callback', uniquePrompt('is cancelled meanwhile'), { deadline_seconds: 600 }),
    ]);
    await eventually(async () => {
      const details = await detailsOf(room.client, waiting.id).catch(() => '');
      return details.includes('budget of the day') || undefined;
    }, 60_000);
    expect((await call(room, 'DELETE', `/v1/generations/${cancelled.id}`)).body).toMatchObject({
      state: 'cancelled',
      credits: { held: 0, released: 40 },
    });
    await setProviderBudget(room.db, { ...budget, amountPerDay: null });
    expect((await get(room, waiting.id)).state).toBe('queued');
    const woken: RunFacts[] = [];
    const starter = { enqueue: (run: RunFacts) => woken.push(run) > 0 };
    const by = { id: waiting.id, actor: 'test', reason: 'the budget is lifted', dryRun: false };
    expect(await wakeGeneration({ db: room.db, starter }, by)).toMatchObject({ effect: 'woken' });
    await Promise.all(woken.map((run) => ensured(room.client, run, 'operator')));
    expect(await untilEnd(room, waiting.id)).toMatchObject({ state: 'succeeded' });
    await expectInvariants(room);
  });
});

describe('many jobs of one account', () => {
  it('do not hold up the first one of another', async () => {
    await healthy();
    const words = uniquePrompt('crowd');
    const { db, tenantId } = room;
    await grantCredits(
      { db },
      { tenantId, account: 'other', credits: 1_000, businessKey: 'other', reason: 'test', actor: 'test' },
    );
    await room.running.worker.stop(20_000, 'SIGTERM');
    const crowd: string[] = [];
    for (let n = 0; n < 80; n += 1) {
      crowd.push((await ask(room, 'by-callback', `${words} ${n}`, { deadline_seconds: 1_800 })).id);
    }
    const single = await ask(room, 'by-callback', uniquePrompt('single'), {
      account: 'other',
      deadline_seconds: 1_800,
    });
    await room.startWorker();
    await untilEnd(room, single.id);
    await eventually(async () => {
      const where = { id: { in: crowd }, completedAt: null };
      return (await room.db.prisma.generation.count({ where })) === 0 || undefined;
    }, 150_000);
    const [own] = await submissions(single.id);
    const sent = await room.db.prisma.submission.findMany({ where: { generationId: { in: crowd } } });
    const before = sent.filter(({ firstSentAt }) => firstSentAt! < own!.firstSentAt!).length;
    // Those of the crowd that came with few under way have the same priority; the rest waits.
    expect(before).toBeLessThan(40);
    await expectInvariants(room);
  }, 200_000);
});
