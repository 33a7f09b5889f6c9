import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { listAccountEntries, readCredits, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { balance } from './facts.ts';
import { drop, newTenant, store, storing } from './fixtures.ts';
import { delivered, SUCCEEDED } from './money.ts';

const test = useDatabase();

async function entriesOf(
  db: Db,
  tenantId: string,
  limit = 100,
  before: { at: string; id: string } | null = null,
) {
  const entries = await listAccountEntries(db, { tenantId, account: 'default', limit, before });
  return entries ?? [];
}

describe('account_entries: the history of an account', () => {
  it('G2 of a hold that is released and one that is captured in part', async () => {
    const tenant = await newTenant(test.db);
    const { db } = test;
    const lost = await storing(db, tenant, 1, 226);
    await drop(db, lost, 0, 'lost');
    await settle(db, lost, { state: 'failed', errorCode: 'output_lost' });
    expect(await readCredits(db, tenant.id, 'default')).toEqual(balance(1_000, 0, 0));
    // Entries are listed by their millisecond.
    await sleep(2);
    const part = await storing(db, tenant, 3, 20);
    await Promise.all([
      store(db, part, { index: 0 }),
      store(db, part, { index: 2 }),
      drop(db, part, 1, 'lost'),
    ]);
    await settle(db, part, SUCCEEDED);
    const all = (await entriesOf(db, tenant.id)).toReversed();
    const numbers = all.map(({ type, available, held, generationId }) => [
      type,
      available,
      held,
      generationId,
    ]);
    expect(numbers.slice(0, 4)).toEqual([
      ['grant', 1_000, 0, null],
      ['hold', -226, 226, lost],
      ['release', 226, -226, lost],
      ['hold', -60, 60, part],
    ]);
    expect(numbers.slice(4)).toEqual([
      ['capture', 0, -40, part],
      ['release', 20, -20, part],
    ]);
    expect(await readCredits(db, tenant.id, 'default')).toEqual(balance(960, 0, 40));
  });

  it('pages of any size are the whole, in one order, without a gap or a repeat', async () => {
    const tenant = await newTenant(test.db);
    const ids = await Promise.all(Array.from({ length: 8 }, () => delivered(test.db, tenant)));
    await Promise.all(ids.map((id) => settle(test.db, id, SUCCEEDED)));
    const all = await entriesOf(test.db, tenant.id);
    expect(all).toHaveLength(17);
    for (const size of [1, 2, 3, 7, 17]) {
      const paged: typeof all = [];
      for (let page = await entriesOf(test.db, tenant.id, size); page.length > 0;) {
        paged.push(...page);
        const { at, id } = page.at(-1)!;
        page = await entriesOf(test.db, tenant.id, size, { at, id });
      }
      expect(paged, `pages of ${size}`).toEqual(all);
    }
  });

  it('of an account that does not exist is null, of another tenant its own', async () => {
    const [one, two] = [await newTenant(test.db, 7), await newTenant(test.db, 9)];
    const page = { account: 'none', limit: 10, before: null };
    expect(await listAccountEntries(test.db, { ...page, tenantId: one.id })).toBeNull();
    expect((await entriesOf(test.db, two.id)).map(({ available }) => available)).toEqual([9]);
  });
});
