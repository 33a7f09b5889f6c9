import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readCredits, settle } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { balance } from './facts.ts';
import { create, drop, grant, newTenant, store, storing } from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const credits = (tenant: { readonly id: string }, account = 'default') =>
  readCredits(test.db, tenant.id, account);

describe('grant_credits: once per business key', () => {
  it('T13 20 concurrent equal grants give once', async () => {
    const tenant = await newTenant(test.db, 0);
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => grant(test.db, tenant, 250, key)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ granted: 1, duplicate: 19 });
    expect(new Set(answers.map((given) => ('accountId' in given ? given.accountId : '')))).toEqual(
      new Set([tenant.accountId]),
    );
    expect(await credits(tenant)).toEqual(balance(250, 0, 0));
  });

  it('another amount or account under the same key is key_reuse', async () => {
    const tenant = await newTenant(test.db, 0);
    await grant(test.db, tenant, 250, 'invoice-1');
    expect(await grant(test.db, tenant, 251, 'invoice-1')).toEqual({ outcome: 'key_reuse' });
    expect(await grant(test.db, tenant, 250, 'invoice-1', 'other')).toEqual({ outcome: 'key_reuse' });
    expect(await credits(tenant)).toEqual(balance(250, 0, 0));
  });

  it('keys of two tenants are apart', async () => {
    const [one, two] = [await newTenant(test.db, 0), await newTenant(test.db, 0)];
    expect(await grant(test.db, one, 5, 'same')).toMatchObject({ outcome: 'granted' });
    expect(await grant(test.db, two, 7, 'same')).toMatchObject({ outcome: 'granted' });
    expect([await credits(one), await credits(two)]).toMatchObject([{ available: 5 }, { available: 7 }]);
  });

  it('opens an account on first use, by one of several', async () => {
    const tenant = await newTenant(test.db, 0);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => grant(test.db, tenant, 10, `k${i}`, 'user-1')),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ granted: 8 });
    expect(new Set(answers.map((given) => ('accountId' in given ? given.accountId : ''))).size).toBe(1);
    expect(await credits(tenant, 'user-1')).toEqual(balance(80, 0, 0));
    expect(await credits(tenant, 'user-2')).toBeNull();
  });

  it('says that a tenant is unknown', async () => {
    expect(await grant(test.db, { id: `ten_${'0'.repeat(26)}`, accountId: '' }, 1, 'k')).toEqual({
      outcome: 'unknown_tenant',
    });
  });

  it('stops at what JSON can carry; a repeat of what was given is still a duplicate', async () => {
    const tenant = await newTenant(test.db, 0);
    const most = Number.MAX_SAFE_INTEGER;
    expect(await grant(test.db, tenant, most, 'all')).toMatchObject({ outcome: 'granted' });
    expect(await credits(tenant)).toEqual(balance(most, 0, 0));
    expect(await grant(test.db, tenant, 1, 'one more')).toEqual({ outcome: 'too_large' });
    expect(await grant(test.db, tenant, most, 'all')).toMatchObject({ outcome: 'duplicate' });
  });

  it.each([0, -5])('a grant of %i is refused', async (amount) => {
    const tenant = await newTenant(test.db, 100);
    await expect(grant(test.db, tenant, amount, 'k')).rejects.toThrow(/a grant is at least 1 credit/);
    expect(await credits(tenant)).toEqual(balance(100, 0, 0));
  });
});

describe('readCredits: exact through a whole life', () => {
  it('G2 a hold that is released leaves no trace in the sums, 100 times', async () => {
    const tenant = await newTenant(test.db);
    for (let round = 0; round < 20; round += 1) {
      const ids = await Promise.all(
        Array.from({ length: 5 }, () => create(test.db, tenant, { credits: 200 })),
      );
      expect(await credits(tenant)).toEqual(balance(0, 1_000, 0));
      await Promise.all(
        ids.map((id) => settle(test.db, id, { state: 'failed', errorCode: 'provider_unavailable' })),
      );
    }
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it.each([
    { outputs: 1, stored: 1, each: 100, captured: 100 },
    { outputs: 4, stored: 4, each: 25, captured: 100 },
    { outputs: 4, stored: 3, each: 25, captured: 75 },
    { outputs: 4, stored: 1, each: 7, captured: 7 },
    { outputs: 3, stored: 2, each: 1, captured: 2 },
    { outputs: 2, stored: 1, each: 4_503_599_627_370_495, captured: 4_503_599_627_370_495 },
  ])('G9 $stored of $outputs stored at $each each captures $captured, the rest is released', async (c) => {
    const price = c.outputs * c.each;
    const tenant = await newTenant(test.db, price);
    const id = await storing(test.db, tenant, c.outputs, c.each);
    for (let index = 0; index < c.outputs; index += 1)
      await (index < c.stored ? store(test.db, id, { index }) : drop(test.db, id, index, 'lost'));
    expect(await credits(tenant)).toEqual(balance(0, price, 0));
    expect(await settle(test.db, id, { state: 'succeeded', errorCode: null })).toMatchObject({
      captured: c.captured,
    });
    expect(await credits(tenant)).toEqual(balance(price - c.captured, 0, c.captured));
    const entries = await test.sql<{ account_id: string; amount: string }>(
      `SELECT e.account_id, e.amount::text FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
       WHERE t.generation_id = $1 ORDER BY e.amount`,
      [id],
    );
    expect(entries).toEqual([
      { account_id: tenant.accountId, amount: String(-c.captured) },
      { account_id: 'sys_revenue', amount: String(c.captured) },
    ]);
  });
});
