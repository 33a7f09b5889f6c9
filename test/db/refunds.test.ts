import { describe, expect, it } from 'vitest';
import { readCredits, settle } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { balance } from './facts.ts';
import { create, newTenant } from './fixtures.ts';
import { captured, failedAtProvider, FAILED, ledgerOf, refund } from './money.ts';

const test = useDatabase({ poolSize: 20 });
const credits = (tenant: { readonly id: string }) => readCredits(test.db, tenant.id, 'default');
const holdOf = (generationId: string) =>
  test.db.prisma.hold.findUniqueOrThrow({ where: { generationId } }).then((hold) => ({
    state: hold.state,
    captured: Number(hold.captured),
    refunded: Number(hold.refunded),
  }));

describe('refund_generation', () => {
  it('gives a part back, then the rest, and no more than was captured', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    expect(await refund(test.db, id, 'quality', 30)).toEqual({
      outcome: 'refunded',
      credits: 30,
      refunded: 30,
    });
    expect(await credits(tenant)).toEqual(balance(930, 0, 70));
    expect(await refund(test.db, id, 'goodwill', 71)).toEqual({ outcome: 'too_much', refundable: 70 });
    expect(await refund(test.db, id, 'goodwill')).toEqual({
      outcome: 'refunded',
      credits: 70,
      refunded: 100,
    });
    expect(await refund(test.db, id, 'more')).toEqual({ outcome: 'too_much', refundable: 0 });
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
    expect(await holdOf(id)).toEqual({ state: 'captured', captured: 100, refunded: 100 });
    expect(await ledgerOf(test.db, id)).toEqual([
      ['capture', -100],
      ['refund', 30],
      ['refund', 70],
    ]);
  });

  it('is once per reason: a repeat is told so, another amount is refused', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    await refund(test.db, id, 'quality', 30);
    const before = { credits: 30, refunded: 30 };
    expect(await refund(test.db, id, 'quality', 30)).toEqual({ outcome: 'duplicate', ...before });
    expect(await refund(test.db, id, 'quality')).toEqual({ outcome: 'duplicate', ...before });
    expect(await refund(test.db, id, 'quality', 31)).toEqual({ outcome: 'reason_used', ...before });
    expect(await credits(tenant)).toEqual(balance(930, 0, 70));
  });

  it('keeps who, why and the note; another tenant and another generation are apart', async () => {
    const [one, two] = [await newTenant(test.db), await newTenant(test.db)];
    const [first, second, other] = [
      await captured(test.db, one),
      await captured(test.db, one),
      await captured(test.db, two),
    ];
    for (const id of [first, second, other])
      expect(await refund(test.db, id, 'quality', 100)).toMatchObject({ outcome: 'refunded' });
    const actions = await test.db.prisma.operatorAction.findMany({ where: { generationId: first } });
    expect(actions).toMatchObject([
      {
        kind: 'refund',
        tenantId: one.id,
        actor: 'ops',
        reason: 'quality',
        detail: { credits: 100, note: 'told by mail' },
      },
    ]);
    expect([await credits(one), await credits(two)]).toEqual([balance(1_000, 0, 0), balance(1_000, 0, 0)]);
  });

  it('has nothing to give back before a capture, after a release, or for what does not exist', async () => {
    const tenant = await newTenant(test.db);
    const open = await create(test.db, tenant);
    const released = await failedAtProvider(test.db, tenant);
    await settle(test.db, released, FAILED);
    for (const id of [open, released])
      expect(await refund(test.db, id, 'quality')).toEqual({ outcome: 'not_captured' });
    expect(await refund(test.db, `gen_${'0'.repeat(26)}`, 'quality')).toEqual({ outcome: 'not_found' });
    expect(await credits(tenant)).toEqual(balance(900, 100, 0));
  });

  it.each([0, -1, 101, Number.MAX_SAFE_INTEGER])('T43 never %i credits of 100', async (amount) => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    expect(await refund(test.db, id, 'quality', amount)).toEqual({ outcome: 'too_much', refundable: 100 });
    expect(await credits(tenant)).toEqual(balance(900, 0, 100));
  });

  it.each([1.5, Number.NaN, 2 ** 53])(
    'T43 %d is no number of credits, and never all that is left',
    async (amount) => {
      const tenant = await newTenant(test.db);
      const id = await captured(test.db, tenant);
      await expect(async () => refund(test.db, id, 'quality', amount)).rejects.toThrow(
        /a whole number of credits/,
      );
      expect(await credits(tenant)).toEqual(balance(900, 0, 100));
    },
  );
});

describe('G1 refunds at once', () => {
  it('40 with one reason: one is booked, all others are told of it', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    const answers = await Promise.all(Array.from({ length: 40 }, () => refund(test.db, id, 'quality', 60)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ refunded: 1, duplicate: 39 });
    for (const answer of answers) expect(answer).toMatchObject({ credits: 60, refunded: 60 });
    expect(await credits(tenant)).toEqual(balance(960, 0, 40));
  });

  it('20 reasons of 30 credits each on 100 captured: three, the others are too much', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => refund(test.db, id, `reason ${i}`, 30)),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ refunded: 3, too_much: 17 });
    expect(await holdOf(id)).toEqual({ state: 'captured', captured: 100, refunded: 90 });
    expect(await credits(tenant)).toEqual(balance(990, 0, 10));
  });

  it('12 of one account and 12 settles of it: exact, whoever comes first', async () => {
    const tenant = await newTenant(test.db, 2_400);
    const paid = await Promise.all(Array.from({ length: 12 }, () => captured(test.db, tenant)));
    const failed = await Promise.all(Array.from({ length: 12 }, () => failedAtProvider(test.db, tenant)));
    await Promise.all([
      ...paid.map((id) => refund(test.db, id, 'quality', 25)),
      ...failed.map((id) => settle(test.db, id, FAILED)),
    ]);
    expect(await credits(tenant)).toEqual(balance(1_500, 0, 900));
  });
});

describe('below the functions', () => {
  it('the tables refuse refunds above the capture, and one that is taken back', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    await refund(test.db, id, 'quality', 60);
    const set = (value: string) => test.sql(`UPDATE hold SET ${value} WHERE generation_id = $1`, [id]);
    await expect(set('refunded = captured + 1')).rejects.toThrow(/hold_refunded_fits/);
    await expect(set('refunded = 59')).rejects.toThrow(/resolved once and never resized/);
    await expect(
      test.sql('UPDATE ledger_account SET posted = granted + 1 WHERE id = $1', [tenant.accountId]),
    ).rejects.toThrow(/spent_within_granted/);
    await expect(
      test.sql(
        `INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor)
         SELECT kind, business_key, generation_id, reason, actor FROM ledger_transaction WHERE kind = 'refund' AND generation_id = $1`,
        [id],
      ),
    ).rejects.toThrow(/business_key/);
  });
});
