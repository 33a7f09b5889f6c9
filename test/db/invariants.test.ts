import { beforeAll, describe, expect, it } from 'vitest';
import { checkInvariants, readInvariants, settle } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { drop, store, storing } from './fixtures.ts';
import { account, generation, hold, lateSuccess, plant, refund, seen } from './violations.ts';
import type { Planted } from './violations.ts';
import { DELIVERED, DELIVERY_SEEDS } from './violations-of-delivery.ts';
import { MONEY_SEEDS } from './violations-of-money.ts';
import { RUN_SEEDS } from './violations-of-runs.ts';

const test = useDatabase();
const SEEDS = [...MONEY_SEEDS, ...RUN_SEEDS, ...DELIVERY_SEEDS];
let planted: Planted;

beforeAll(async () => {
  planted = await plant(test.db);
});

describe('each invariant reports its violation', () => {
  it.each(SEEDS)('$name: $how', async ({ name, sql, also }) => {
    expect((await seen(test.db, sql(planted))).toSorted()).toEqual([name, ...(also ?? [])].toSorted());
  });

  it('none is left untested, and none is there twice', async () => {
    const names = (await readInvariants()).map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(SEEDS.map(({ name }) => name))].toSorted());
  });
});

describe('what is no violation', () => {
  it('a hold past its deadline while it is stored, or while an operator has it', async () => {
    const past = `deadline_at = now() - interval '10 minutes'`;
    const success = `stage = 'storing', success_at = now(), store_until = now() + interval '1 hour'`;
    expect(await seen(test.db, [generation(planted.ids.running, `${past}, ${success}`)])).toEqual([]);
    expect(
      await seen(test.db, [
        generation(planted.ids.running, `${past}, stage = 'needs_operator', operator_reason = 'r'`),
      ]),
    ).toEqual([]);
  });

  it('refunds of all that was captured, for two reasons', async () => {
    const again = refund(planted, 'seed-2', 40).replace(`'seed', 'seed'`, `'another', 'seed'`);
    const whole = [hold(planted.ids.succeeded, 'refunded = 100'), account(planted, 'posted = posted + 100')];
    expect(await seen(test.db, [refund(planted, 'seed-1', 60), again, ...whole])).toEqual([]);
  });

  it('a late success of a generation that was not charged for it', async () => {
    expect(await seen(test.db, [lateSuccess(planted.ids.failed)])).toEqual([]);
  });

  it('a capture below the hold, and outputs that are being deleted or are gone', async () => {
    const partial = await storing(test.db, planted.tenant, 2);
    await store(test.db, partial, { index: 1 });
    await drop(test.db, partial, 0, 'lost');
    await settle(test.db, partial, { state: 'succeeded', errorCode: null });
    expect(await seen(test.db, [])).toEqual([]);
    for (const set of [`state = 'deleting'`, `state = 'deleted', deleted_at = now()`]) {
      expect(
        await seen(test.db, [
          `UPDATE output SET ${set} WHERE generation_id = '${partial}' AND index = 1`,
          generation(partial, `delivery = 'expired'`),
        ]),
      ).toEqual([]);
    }
  });

  it.each(DELIVERED)('$how', async ({ sql }) => {
    expect(await seen(test.db, sql(planted))).toEqual([]);
  });

  it('examples name the rows, at most ten', async () => {
    const found = await checkInvariants(test.db);
    expect(found.every(({ violations: count, examples }) => count === 0 && examples.length === 0)).toBe(true);
    expect(found).toHaveLength((await readInvariants()).length);
  });
});
