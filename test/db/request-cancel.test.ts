import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimSubmission, readCredits, requestCancel, settle } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { balance, facts, generationOf, submissionOf } from './facts.ts';
import { finish } from './finish.ts';
import { accept, answer, claimOf, create, newTenant, observe, send, store } from './fixtures.ts';
import { makeRow, OPEN_ROWS, ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const test = useDatabase({ poolSize: 20 });
const cancel = (generationId: string) =>
  requestCancel(test.db, { generationId, tenantId: null, actor: 'operator' });
const PLAIN = { flagged: false, overdue: false } as const;

describe('request_cancel', () => {
  it.each(ROWS)('%s: settled at once only while no provider can have the job', async (row) => {
    const { id, tenantId } = await makeRow(test.db, row, PLAIN);
    const answered = await requestCancel(test.db, { generationId: id, tenantId, actor: 'tenant' });
    const unsent = row === 'none' || row === 'prepared';
    expect(answered).toMatchObject({
      outcome: unsent ? 'cancelled' : 'requested',
      wake: true,
      run: { generationId: id },
    });
    expect(await facts(test.db, id)).toMatchObject(
      unsent
        ? { state: 'cancelled', hold: 'released', cancel: 'confirmed', terminalEvents: 1 }
        : { hold: 'held', cancel: 'requested', terminalEvents: 0 },
    );
    expect(await requestCancel(test.db, { generationId: id, tenantId, actor: 'tenant' })).toMatchObject({
      outcome: unsent ? 'already_terminal' : 'requested',
      wake: false,
    });
    expect((await generationOf(test.db, id)).cancelRequestedBy).toBe('tenant');
  });

  it('voids a prepared submission', async () => {
    const { id } = await makeRow(test.db, 'prepared', PLAIN);
    await cancel(id);
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'abandoned' });
    expect(await claimSubmission(test.db, claimOf(id))).toEqual({ outcome: 'terminal' });
  });

  it('an unknown id and the id of another tenant are the same', async () => {
    const { id } = await makeRow(test.db, 'accepted', PLAIN);
    const stranger = await newTenant(test.db);
    const nothing = { outcome: 'not_found', wake: false, run: null };
    for (const generationId of [id, `gen_${'0'.repeat(26)}`])
      expect(await requestCancel(test.db, { generationId, tenantId: stranger.id, actor: 'tenant' })).toEqual(
        nothing,
      );
    expect((await facts(test.db, id)).cancel).toBeNull();
  });

  it('20 at once ask for one wake and write one event', async () => {
    const { id } = await makeRow(test.db, 'accepted', PLAIN);
    const answers = await Promise.all(Array.from({ length: 20 }, () => cancel(id)));
    expect(tally(answers.map(({ outcome, wake }) => `${outcome} ${wake}`))).toEqual({
      'requested true': 1,
      'requested false': 19,
    });
    expect((await facts(test.db, id)).events.filter((type) => type === 'cancellation')).toHaveLength(1);
  });
});

describe('request_cancel racing one step, 25 times each', () => {
  async function race(row: Row, step: (id: string) => Promise<{ readonly outcome: string }>) {
    const pairs: string[] = [];
    for (let round = 0; round < 25; round += 1) {
      const { id, tenantId } = await makeRow(test.db, row, PLAIN);
      const calls = [() => step(id), () => cancel(id)];
      const order = round % 2 === 0 ? calls : calls.toReversed();
      const answers = await Promise.all(order.map((call) => call()));
      const [stepped, cancelled] = round % 2 === 0 ? answers : answers.toReversed();
      pairs.push(`${stepped!.outcome} / ${cancelled!.outcome}`);
      await finish(test.db, id);
      const after = await facts(test.db, id);
      expect(after.terminalEvents).toBe(1);
      expect(after.hold).toBe(after.state === 'succeeded' ? 'captured' : 'released');
      const spent = after.captured;
      expect(await readCredits(test.db, tenantId, 'default')).toEqual(balance(1_000 - spent, 0, spent));
    }
    return tally(pairs);
  }

  it('a claim: never sent and cancelled both', async () => {
    const pairs = await race('none', (id) => claimSubmission(test.db, claimOf(id)));
    for (const pair of Object.keys(pairs))
      expect(['send / requested', 'terminal / cancelled']).toContain(pair);
  });

  it('an acceptance: always only asked for, since a provider may have the job', async () => {
    expect(await race('sending', (id) => accept(test.db, id))).toEqual({ 'attached / requested': 25 });
  });

  it('an answer that nothing was sent: the cancel settles or the run does', async () => {
    const pairs = await race('sending', (id) => answer(test.db, id, 1, 'not_sent'));
    for (const pair of Object.keys(pairs))
      expect(['recorded / requested', 'recorded / cancelled']).toContain(pair);
  });

  it('a settle: one of the two ends it', async () => {
    const pairs = await race('stored', (id) => settle(test.db, id, { state: 'succeeded', errorCode: null }));
    for (const pair of Object.keys(pairs))
      expect(['settled / requested', 'settled / already_terminal']).toContain(pair);
  });
});

/** mulberry32: a small generator with a seed, so that a failure can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('IDEM-11 request_cancel in 100 random interleavings', () => {
  const seed = Math.floor(Math.random() * 1_000_000);
  const random = randomFrom(seed);
  const steps: ((id: string) => Promise<unknown>)[] = [
    (id) => claimSubmission(test.db, claimOf(id)),
    (id) => accept(test.db, id),
    (id) => answer(test.db, id, 1, 'unknown'),
    (id) => answer(test.db, id, 1, 'not_sent'),
    (id) => store(test.db, id, { index: 0 }),
    (id) => store(test.db, id, { index: 1 }),
    (id) => settle(test.db, id, { state: 'succeeded', errorCode: null }),
    (id) => settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' }),
    (id) => settle(test.db, id, { state: 'cancelled', errorCode: null }),
    (id) => settle(test.db, id, { state: 'expired', errorCode: 'deadline_exceeded' }),
    cancel,
    cancel,
  ];

  it(`one terminal event, the hold resolved once (seed ${seed})`, async () => {
    for (let round = 0; round < 100; round += 1) {
      const row = ROWS[Math.floor(random() * ROWS.length)]!;
      const { id, tenantId } = await makeRow(test.db, row, { flagged: false, overdue: random() < 0.3 });
      const chosen = steps.filter(() => random() < 0.5).map((step) => ({ step, delayMs: random() * 4 }));
      await Promise.all(chosen.map(({ step, delayMs }) => sleep(delayMs).then(() => step(id))));
      await finish(test.db, id);
      const after = await facts(test.db, id);
      const say = `seed ${seed}, round ${round}, from ${row}`;
      expect(after.terminalEvents, say).toBe(1);
      expect(after.hold, say).toBe(after.state === 'succeeded' ? 'captured' : 'released');
      if (!OPEN_ROWS.has(row)) expect(['succeeded', 'failed'], say).toContain(after.state);
      const spent = after.captured;
      expect(await readCredits(test.db, tenantId, 'default'), say).toEqual(balance(1_000 - spent, 0, spent));
    }
  });

  it('success recorded while a cancel is asked: captured, too late', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await send(test.db, id);
    await accept(test.db, id);
    await Promise.all([cancel(id), observe(test.db, id, 'succeeded')]);
    await finish(test.db, id);
    expect(await facts(test.db, id)).toMatchObject({ state: 'succeeded', cancel: 'too_late', captured: 100 });
  });
});
