import { describe, expect, it } from 'vitest';
import {
  loadGeneration,
  parkGeneration,
  requestCancel,
  settle,
  updateWebhookEndpoint,
} from '../../src/db/index.ts';
import {
  cancelByOperator,
  observeByOperator,
  redeliverByOperator,
  retryStoringByOperator,
  wakeByOperator,
} from '../../src/db/operator-actions.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import { accepted, create, drop, newTenant, observe, send, store, storing } from './fixtures.ts';
import { makeRow } from './rows.ts';
import { claim, newEndpoint, record } from './webhooks.ts';

const test = useDatabase();
const UNKNOWN = `gen_${'0'.repeat(26)}`;
const by = (generationId: string) => ({ generationId, actor: 'cli:ann', reason: 'ticket 7' });
const load = (id: string) => loadGeneration(test.db, { generationId: id, dueInMs: 60_000, resume: true });
const actionsOf = (generationId: string) =>
  test.db.prisma.operatorAction.findMany({ where: { generationId }, orderBy: { id: 'asc' } });

/** Ended while its job is not known to have ended. */
async function expired(row: 'accepted' | 'unknown'): Promise<string> {
  const { id } = await makeRow(test.db, row, { flagged: false, overdue: true });
  const errorCode = row === 'unknown' ? 'submission_unresolved' : 'deadline_exceeded';
  await settle(test.db, id, { state: 'expired', errorCode });
  return id;
}

describe('wake', () => {
  it('asks the run to look now, whatever the sweep has pushed it back by, and is on record', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant);
    await test.sql(
      `UPDATE generation SET wake_requested_at = clock_timestamp() + interval '5 minutes', sweep_count = 9 WHERE id = $1`,
      [id],
    );
    const before = new Date();
    expect(await wakeByOperator(test.db, by(id))).toMatchObject({
      outcome: 'done',
      effect: 'woken',
      state: 'running',
      stage: 'waiting',
      wake: true,
      run: { generationId: id },
    });
    const row = await generationOf(test.db, id);
    expect(row.sweepCount).toBe(0);
    expect(Math.abs(row.wakeRequestedAt!.getTime() - before.getTime())).toBeLessThan(60_000);
    expect(await actionsOf(id)).toMatchObject([
      {
        kind: 'wake',
        tenantId: tenant.id,
        actor: 'cli:ann',
        reason: 'ticket 7',
        detail: { effect: 'woken' },
      },
    ]);
    expect(await wakeByOperator(test.db, by(id))).toMatchObject({ effect: 'woken' });
  });

  it('of one that has ended is refused and leaves no record', async () => {
    const id = await expired('accepted');
    expect(await wakeByOperator(test.db, by(id))).toMatchObject({
      outcome: 'refused',
      why: 'already_terminal',
      state: 'expired',
    });
    expect(await actionsOf(id)).toEqual([]);
  });
});

describe('cancel by an operator', () => {
  it('settles there and then what no provider can have, asks for the rest; each with name and reason', async () => {
    const tenant = await newTenant(test.db);
    const [queued, running] = [await create(test.db, tenant), await accepted(test.db, tenant)];
    expect(await cancelByOperator(test.db, by(queued))).toMatchObject({
      outcome: 'done',
      effect: 'cancelled',
      state: 'cancelled',
      stage: 'done',
    });
    for (let times = 0; times < 2; times += 1) {
      expect(await cancelByOperator(test.db, by(running))).toMatchObject({
        outcome: 'done',
        effect: 'requested',
        state: 'running',
        wake: true,
      });
    }
    expect(await generationOf(test.db, running)).toMatchObject({ cancelRequestedBy: 'operator' });
    expect((await facts(test.db, running)).events.filter((type) => type === 'cancellation')).toHaveLength(1);
    expect(await actionsOf(queued)).toMatchObject([{ kind: 'cancel', actor: 'cli:ann', reason: 'ticket 7' }]);
    expect(await cancelByOperator(test.db, by(queued))).toMatchObject({ why: 'already_terminal' });
  });
});

describe('observe now', () => {
  it('a waiting job: its run finds a hint that says so, once more with each call, in one row', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    for (let times = 0; times < 2; times += 1) {
      expect(await observeByOperator(test.db, by(id))).toMatchObject({
        outcome: 'done',
        effect: 'observing',
        jobId: `job-${id}`,
        count: 1,
        wake: true,
      });
      expect((await generationOf(test.db, id)).wakeRequestedAt).not.toBeNull();
      expect((await load(id))?.hints).toEqual([{ jobId: null, terminal: true }]);
      expect((await load(id))?.hints).toEqual([]);
    }
    expect(await test.db.prisma.callback.count({ where: { submission: { generationId: id } } })).toBe(1);
    // The provider has told nothing: its polls stay as they were.
    expect(await submissionOf(test.db, id)).toMatchObject({ terminalHintAt: null, callbackCount: 0 });
  });

  it('one that is parked goes on and looks; one that is unknown is searched', async () => {
    const parked = await accepted(test.db, await newTenant(test.db));
    await parkGeneration(test.db, {
      generationId: parked,
      reason: 'provider_access_denied',
      dueInMs: 60_000,
    });
    expect(await observeByOperator(test.db, by(parked))).toMatchObject({ effect: 'observing' });
    expect(await load(parked)).toMatchObject({
      generation: { stage: 'waiting' },
      hints: [{ terminal: true }],
    });
    const { id } = await makeRow(test.db, 'unknown', { flagged: false, overdue: false });
    expect(await observeByOperator(test.db, by(id))).toMatchObject({ effect: 'searching', jobId: null });
  });

  it('says when there is nothing to look at', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    expect(await observeByOperator(test.db, by(id))).toMatchObject({ outcome: 'refused', why: 'no_job' });
    await send(test.db, id);
    const sending = await observeByOperator(test.db, by(id));
    expect(sending).toMatchObject({ outcome: 'refused', why: 'sending' });
    expect((sending as { inMs: number }).inMs).toBeGreaterThan(0);
    const ended = await accepted(test.db, tenant);
    await observe(test.db, ended, 'failed');
    await settle(test.db, ended, { state: 'failed', errorCode: 'provider_failed' });
    expect(await observeByOperator(test.db, by(ended))).toMatchObject({ why: 'job_ended' });
    expect(await actionsOf(ended)).toEqual([]);
    expect(await observeByOperator(test.db, by(UNKNOWN))).toEqual({ outcome: 'not_found' });
  });

  it.each(['accepted', 'unknown'] as const)(
    'after an end with its submission %s the late look is due now, and none of the planned ones is used up',
    async (row) => {
      const id = await expired(row);
      const planned = (await submissionOf(test.db, id)).lateDueAt!;
      expect(await observeByOperator(test.db, by(id))).toMatchObject({
        effect: 'observing_late',
        count: 1,
        wake: false,
        state: 'expired',
      });
      const due = (await submissionOf(test.db, id)).lateDueAt!;
      expect(due.getTime()).toBeLessThan(planned.getTime());
      await observeByOperator(test.db, by(id));
      if (row === 'unknown') return;
      await observe(test.db, id, 'running');
      const after = await submissionOf(test.db, id);
      expect([after.lateDueAt, after.lateCount]).toEqual([planned, 0]);
    },
  );
});

describe('retry storing', () => {
  const retry = (id: string, hours = 24) => retryStoringByOperator(test.db, { ...by(id), hours });

  it('what was lost or invalid is stored after all; who holds a lease keeps it', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 4);
    await drop(test.db, id, 0, 'lost');
    await drop(test.db, id, 1, 'invalid');
    await store(test.db, id, { index: 2 });
    await test.sql('UPDATE output SET gone_count = 1 WHERE generation_id = $1 AND index = 3', [id]);
    const leased = await test.db.prisma.output.findFirstOrThrow({ where: { generationId: id, index: 3 } });
    expect(await retry(id)).toMatchObject({ outcome: 'done', effect: 'storing', count: 3, wake: true });
    const rows = await test.db.prisma.output.findMany({
      where: { generationId: id },
      orderBy: { index: 'asc' },
    });
    expect(rows.map(({ state, goneCount, problem }) => [state, goneCount, problem])).toEqual([
      ['storing', 0, null],
      ['storing', 0, null],
      ['stored', 0, null],
      ['storing', 0, null],
    ]);
    expect(rows.map(({ leaseUntil }) => leaseUntil)).toEqual([null, null, null, leased.leaseUntil]);
    // The end that was proposed before does not fit any more; the first attempt's late word changes nothing.
    const early = await settle(test.db, id, { state: 'succeeded', errorCode: null });
    expect(early.outcome).toBe('stale');
    await store(test.db, id, { index: 0, attempt: 2 });
    await store(test.db, id, { index: 1, attempt: 2 });
    await store(test.db, id, { index: 3 });
    await settle(test.db, id, { state: 'succeeded', errorCode: null });
    expect(await facts(test.db, id)).toMatchObject({ delivery: 'stored', captured: 400 });
    expect(await retry(id)).toMatchObject({ why: 'already_terminal', state: 'succeeded' });
  });

  it('gives at least so many hours from now, and never takes time away', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'succeeded', { storeForMs: 3_600_000 });
    await drop(test.db, id, 0, 'lost');
    const hoursLeft = async () =>
      Math.round(((await generationOf(test.db, id)).storeUntil!.getTime() - Date.now()) / 3_600_000);
    await retry(id, 48);
    expect(await hoursLeft()).toBe(48);
    await retry(id, 2);
    expect(await hoursLeft()).toBe(48);
    expect((await actionsOf(id)).map(({ kind }) => kind)).toEqual(['retry_storing', 'retry_storing']);
  });

  it('is refused before a success and when nothing is lost', async () => {
    const { id } = await makeRow(test.db, 'accepted', { flagged: false, overdue: false });
    expect(await retry(id)).toMatchObject({ outcome: 'refused', why: 'no_success' });
    const { id: stored } = await makeRow(test.db, 'stored', { flagged: false, overdue: false });
    expect(await retry(stored)).toMatchObject({ outcome: 'refused', why: 'nothing_to_store' });
    expect(await retry(UNKNOWN)).toEqual({ outcome: 'not_found' });
  });
});

describe('redeliver', () => {
  const redeliver = (id: string) => redeliverByOperator(test.db, by(id));
  const statesOf = async (id: string) =>
    (
      await test.db.prisma.webhookDelivery.findMany({
        where: { event: { generationId: id } },
        orderBy: { endpointId: 'asc' },
      })
    ).map(({ state, endpointId }) => [endpointId, state]);

  it('every delivery of the generation and no other is due again; those under way are left alone', async () => {
    const tenant = await newTenant(test.db);
    const [one, two] = [await newEndpoint(test.db, tenant), await newEndpoint(test.db, tenant)].sort();
    const [id, other] = [await create(test.db, tenant), await create(test.db, tenant)];
    for (const generationId of [id, other]) {
      await requestCancel(test.db, { generationId, tenantId: tenant.id, actor: 'tenant' });
    }
    expect(await redeliver(id)).toMatchObject({ effect: 'redelivering', count: 2, skipped: 0, wake: false });
    const claimed = await claim(test.db);
    expect(tally(claimed.map(({ generationId }) => generationId ?? ''))).toEqual({ [id]: 2, [other]: 2 });
    expect(await redeliver(id)).toMatchObject({ outcome: 'refused', why: 'nothing_to_redeliver' });
    for (const delivery of claimed) await record(test.db, delivery, 'delivered');
    await updateWebhookEndpoint(test.db, { tenantId: tenant.id, endpointId: two!, enabled: false });
    expect(await redeliver(id)).toMatchObject({ count: 1, skipped: 1, state: 'cancelled' });
    expect(await statesOf(id)).toEqual([
      [one, 'pending'],
      [two, 'delivered'],
    ]);
    expect((await statesOf(other)).map(([, state]) => state)).toEqual(['delivered', 'delivered']);
    await updateWebhookEndpoint(test.db, { tenantId: tenant.id, endpointId: one!, enabled: false });
    expect(await redeliver(id)).toMatchObject({ outcome: 'refused', why: 'endpoints_disabled' });
    expect((await actionsOf(id)).map(({ kind }) => kind)).toEqual(['redeliver', 'redeliver']);
  });

  it('nothing was told of it: says so', async () => {
    const id = await create(test.db, await newTenant(test.db));
    expect(await redeliver(id)).toMatchObject({ outcome: 'refused', why: 'nothing_to_redeliver' });
    expect(await redeliver(UNKNOWN)).toEqual({ outcome: 'not_found' });
  });
});

it('an action and its record are one: neither is without the other', async () => {
  const id = await accepted(test.db, await newTenant(test.db));
  await expect(wakeByOperator(test.db, { ...by(id), actor: '' })).rejects.toThrow(/actor_length/);
  expect(await generationOf(test.db, id)).toMatchObject({ wakeRequestedAt: null });
});
