import { describe, expect, it } from 'vitest';
import { createGeneration, readCredits, requestCancel, settle } from '../../src/db/index.ts';
import type { Proposal } from '../../src/db/index.ts';
import { callRaw, tally, useDatabase } from './database.ts';
import { balance, facts } from './facts.ts';
import { accepted, create, newGeneration, newTenant, observe, store } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import {
  CANCELLED,
  delivered,
  EXPIRED,
  FAILED,
  failedAtProvider,
  ledgerOf,
  resolve,
  SUCCEEDED,
} from './money.ts';

const test = useDatabase({ poolSize: 40 });
const credits = (tenant: Tenant) => readCredits(test.db, tenant.id, 'default');
const times = <T>(count: number, run: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));
const cancel = (id: string) =>
  requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });

describe('T47 T49 clients at once', () => {
  it('32 on one account with credit for ten holds: exactly ten, the others are refused, nothing below zero', async () => {
    const tenant = await newTenant(test.db);
    const answers = await times(32, () => createGeneration(test.db, newGeneration(tenant)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 10, insufficient_credits: 22 });
    for (const answer of answers)
      if (answer.outcome === 'insufficient_credits')
        expect(answer).toEqual({ outcome: 'insufficient_credits', available: 0, required: 100 });
    expect(await credits(tenant)).toEqual(balance(0, 1_000, 0));
  });

  it('while ten holds are released and 32 want one: available is never below zero, and none is lost', async () => {
    const tenant = await newTenant(test.db);
    const ids = await times(10, () => failedAtProvider(test.db, tenant));
    const [answers] = await Promise.all([
      times(32, () => createGeneration(test.db, newGeneration(tenant))),
      Promise.all(ids.map((id) => settle(test.db, id, FAILED))),
    ]);
    const created = answers.filter(({ outcome }) => outcome === 'created').length;
    expect(created).toBeLessThanOrEqual(10);
    expect(await credits(tenant)).toEqual(balance(1_000 - created * 100, created * 100, 0));
  });
});

interface End {
  readonly won: boolean;
  readonly state: string;
}

/** Every way to end a generation, each with what its caller is told. */
const WAYS = {
  settle:
    (proposal: Proposal) =>
    async (id: string): Promise<End | null> => {
      const { outcome, state } = await settle(test.db, id, proposal);
      return outcome === 'stale' ? null : { won: outcome === 'settled', state };
    },
  resolve:
    (state: 'failed' | 'succeeded') =>
    async (id: string): Promise<End | null> => {
      const answer = await resolve(test.db, id, state);
      if (answer.outcome !== 'resolved' && answer.outcome !== 'already_terminal') return null;
      return { won: answer.outcome === 'resolved', state: answer.state };
    },
  cancel: async (id: string): Promise<End | null> => {
    const { outcome } = await cancel(id);
    return outcome === 'cancelled' ? { won: true, state: 'cancelled' } : null;
  },
};

async function expectOneEnd(id: string, ends: readonly (End | null)[]): Promise<string> {
  const told = ends.filter((end) => end !== null);
  expect(told.filter(({ won }) => won)).toHaveLength(1);
  const after = await facts(test.db, id);
  expect(new Set(told.map(({ state }) => state))).toEqual(new Set([after.state]));
  expect(after).toMatchObject({ stage: 'done', terminalEvents: 1 });
  expect(after.hold).toBe(after.state === 'succeeded' ? 'captured' : 'released');
  return after.state;
}

describe('G6 T17 T46 one hold, many who end it', () => {
  it('160 racing resolutions of a delivered one: one winner, all report it, one capture', async () => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant);
    const ways = [WAYS.settle(SUCCEEDED), WAYS.resolve('succeeded'), WAYS.settle(EXPIRED), WAYS.cancel];
    const ends = await times(160, (n) => ways[n % 4]!(id));
    expect(await expectOneEnd(id, ends)).toBe('succeeded');
    expect(await ledgerOf(test.db, id)).toEqual([['capture', -100]]);
    expect(await credits(tenant)).toEqual(balance(900, 0, 100));
  });

  it('160 racing resolutions of a failed one: failed, cancelled, expired or by hand, but one; released', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant, { deadlineSeconds: 0 });
    await observe(test.db, id, 'failed');
    const ways = [
      WAYS.settle(FAILED),
      WAYS.settle(EXPIRED),
      WAYS.settle(CANCELLED),
      WAYS.resolve('failed'),
      WAYS.cancel,
    ];
    const ends = await times(160, (n) => ways[n % 5]!(id));
    expect(['failed', 'cancelled', 'expired']).toContain(await expectOneEnd(id, ends));
    expect(await ledgerOf(test.db, id)).toEqual([]);
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it.each([
    ['a cancel', WAYS.cancel],
    ['the deadline', WAYS.settle(EXPIRED)],
    ['an operator', WAYS.resolve('failed')],
    ['a second run', WAYS.settle(FAILED)],
  ] as const)(
    'a settle raced by %s, 20 times: one outcome each, and both report it',
    async (_name, other) => {
      const tenant = await newTenant(test.db, 2_000);
      const ids = await times(20, () => create(test.db, tenant, { deadlineSeconds: 0 }));
      await Promise.all(
        ids.map(async (id) => {
          const ends = await Promise.all([WAYS.settle(FAILED)(id), other(id)]);
          await expectOneEnd(id, ends);
        }),
      );
      expect(await credits(tenant)).toEqual(balance(2_000, 0, 0));
    },
  );

  it('two sessions, the first not yet committed: the second waits and adopts it', async () => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant, 2, 40);
    const first = await test.connect();
    await first.query('BEGIN');
    const won = await callRaw(first, 'settle', { generationId: id, ...SUCCEEDED });
    expect(won).toMatchObject({ outcome: 'settled', state: 'succeeded', errorCode: null, captured: 80 });
    const second = settle(test.db, id, SUCCEEDED);
    const byHand = resolve(test.db, id, 'failed');
    await first.query('COMMIT');
    expect(await second).toEqual({ outcome: 'already', state: 'succeeded', errorCode: null, captured: 80 });
    expect(await byHand).toEqual({ outcome: 'already_terminal', state: 'succeeded' });
    expect(await ledgerOf(test.db, id)).toEqual([['capture', -80]]);
  });

  it('T41 the session dies between the money and its commit: nothing has happened, the next try completes', async () => {
    const tenant = await newTenant(test.db);
    const id = await failedAtProvider(test.db, tenant);
    const dying = await test.connect();
    dying.on('error', () => {});
    const { rows } = await dying.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await dying.query('BEGIN');
    expect(await callRaw(dying, 'settle', { generationId: id, ...FAILED })).toMatchObject({
      outcome: 'settled',
    });
    const retry = settle(test.db, id, FAILED);
    await test.sql('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
    expect(await retry).toMatchObject({ outcome: 'settled', state: 'failed' });
    expect(await facts(test.db, id)).toMatchObject({ state: 'failed', hold: 'released', terminalEvents: 1 });
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it('T19 expired and released, delivered later from a stale read: refused, and recorded as late', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant, { deadlineSeconds: 0 });
    await settle(test.db, id, EXPIRED);
    expect(await observe(test.db, id, 'succeeded')).toMatchObject({ terminal: true, attempts: [] });
    expect(await store(test.db, id)).toMatchObject({ outcome: 'lost_race' });
    expect(await settle(test.db, id, SUCCEEDED)).toEqual({
      outcome: 'already',
      ...EXPIRED,
      captured: 0,
    });
    expect(await resolve(test.db, id, 'succeeded')).toEqual({
      outcome: 'already_terminal',
      state: 'expired',
    });
    expect(await test.sql('SELECT generation_id AS id FROM late_success')).toContainEqual({ id });
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });
});

describe('G6 200 parallel captures of 1 credit on one account', () => {
  it('take exactly 200', async () => {
    const tenant = await newTenant(test.db);
    const ids = await times(200, () => delivered(test.db, tenant, 1, 1));
    expect(await credits(tenant)).toEqual(balance(800, 200, 0));
    const answers = await Promise.all(ids.map((id) => settle(test.db, id, SUCCEEDED)));
    expect(tally(answers.map(({ outcome, captured }) => `${outcome} ${captured}`))).toEqual({
      'settled 1': 200,
    });
    expect(await credits(tenant)).toEqual(balance(800, 0, 200));
  });
});
