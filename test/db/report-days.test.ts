import { describe, expect, it } from 'vitest';
import { refundGeneration } from '../../src/db/index.ts';
import { reportUsage } from '../../src/services/report-usage.ts';
import type { UsageReport } from '../../src/services/report-usage.ts';
import { useDatabase } from './database.ts';
import { answer, create, grant, newTenant, observe, send } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { plainSums } from './plain-sums.ts';
import { acceptAt, billed, estimated, failed, moveTo, reportOf, sold, started } from './sales.ts';

const test = useDatabase();

const report = (input: Parameters<typeof reportOf>[1] = {}) => reportOf(test.db, input);
const of = (tenant: Tenant, by: UsageReport['by'] = []) => report({ tenantId: tenant.id, by });

describe('days and groups', () => {
  it('each fact belongs to its own UTC day, to the millisecond', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, { estimate: estimated('0.25') });
    await refundGeneration(test.db, {
      generationId: id,
      credits: 30,
      reason: 'late',
      note: null,
      actor: 'x',
    });
    await moveTo(test.db, id, {
      created: '2026-03-10T23:59:59.998Z',
      sent: '2026-03-10T23:59:59.999Z',
      captured: '2026-03-11T00:00:00.000Z',
      refunded: '2026-03-12T12:00:00.000Z',
    });
    const days = await report({ tenantId: tenant.id, from: '2026-03-10', to: '2026-03-12', by: ['day'] });
    const none = { captured: 0, refunded: 0, net: 0 };
    expect(days.rows).toMatchObject([
      {
        day: '2026-03-10',
        generations: 1,
        succeeded: 0,
        credits: none,
        costs: [{ unit: 'USD', final: '0', estimated: '0.25' }],
      },
      {
        day: '2026-03-11',
        generations: 0,
        succeeded: 1,
        credits: { ...none, captured: 100, net: 100 },
        costs: [],
      },
      {
        day: '2026-03-12',
        generations: 0,
        succeeded: 0,
        credits: { ...none, refunded: 30, net: -30 },
        costs: [],
      },
    ]);
    expect(days.total).toMatchObject({
      generations: 1,
      succeeded: 1,
      credits: { captured: 100, refunded: 30, net: 70 },
    });
    const only = await report({ tenantId: tenant.id, from: '2026-03-11', to: '2026-03-11' });
    expect(only.total).toMatchObject({
      generations: 0,
      succeeded: 1,
      credits: { captured: 100, refunded: 0 },
      costs: [],
    });
    expect((await of(tenant)).total).toMatchObject({
      generations: 0,
      succeeded: 0,
      credits: none,
      costs: [],
    });
  });

  it('a cost that becomes known later belongs to the day the job was sent', async () => {
    const tenant = await newTenant(test.db);
    const id = await started(test.db, tenant, { estimate: estimated('0.25') });
    await moveTo(test.db, id, { sent: '2026-03-10T08:00:00Z' });
    await observe(test.db, id, 'failed', { cost: billed('0.11') });
    const { rows } = await report({ tenantId: tenant.id, from: '2026-03-09', to: '2026-03-11', by: ['day'] });
    expect(rows).toMatchObject([{ day: '2026-03-10', costs: [{ final: '0.11', estimated: '0' }] }]);
  });

  it('a cost of a job that no send stands for is not lost either', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await answer(test.db, id, await send(test.db, id), 'not_sent');
    await acceptAt(test.db, id, billed('0.4'));
    expect((await of(tenant)).total.costs).toEqual([{ unit: 'USD', final: '0.4', estimated: '0' }]);
  });

  it('groups by account within its tenant, by model and provider; groups add up to the total', async () => {
    const [one, two] = [await newTenant(test.db), await newTenant(test.db)];
    await grant(test.db, one, 1_000, 'more', 'user-1');
    await sold(test.db, one, { cost: billed('1') });
    await sold(test.db, one, { account: 'user-1', model: 'quick-image', provider: 'fal', cost: billed('2') });
    await sold(test.db, one, { account: 'user-1', model: 'quick-image', provider: 'fal', cost: billed('4') });
    await sold(test.db, two, { cost: billed('8') });
    const accounts = await report({ by: ['account', 'account'] });
    expect(accounts.by).toEqual(['tenant', 'account']);
    const mine = accounts.rows.filter(({ tenant }) => tenant === one.id || tenant === two.id);
    expect(mine.map((row) => [row.tenant, row.account, row.succeeded, row.costs[0]?.final])).toEqual([
      [one.id, 'default', 1, '1'],
      [one.id, 'user-1', 2, '6'],
      [two.id, 'default', 1, '8'],
    ]);
    const all = await of(one, ['provider', 'day', 'model', 'account']);
    expect(all.by).toEqual(['provider', 'day', 'model', 'tenant', 'account']);
    expect(
      all.rows.map(({ provider, model, account, generations }) => [provider, model, account, generations]),
    ).toEqual([
      ['fal', 'quick-image', 'user-1', 2],
      ['infro', 'infro-video', 'default', 1],
    ]);
    expect(all.total).toMatchObject({ generations: 3, credits: { captured: 300 }, costs: [{ final: '7' }] });
  });

  it('nothing at all is a report of zeros', async () => {
    expect(await report({ from: '2020-02-28', to: '2020-03-01', by: ['tenant', 'day'] })).toMatchObject({
      from: '2020-02-28',
      to: '2020-03-01',
      rows: [],
      total: {
        generations: 0,
        succeeded: 0,
        credits: { captured: 0, refunded: 0, net: 0 },
        costs: [],
        jobs_without_cost: 0,
      },
    });
  });

  it('the default are the last 7 days with today; a given end moves the beginning', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const { from, to } = await report();
    expect(Date.parse(to) - Date.parse(from)).toBe(6 * 86_400_000);
    expect([today, new Date().toISOString().slice(0, 10)]).toContain(to);
    expect(await report({ to: '2026-03-03' })).toMatchObject({ from: '2026-02-25', to: '2026-03-03' });
  });

  it.each([
    [{ from: '2026-03-02', to: '2026-03-01' }, { outcome: 'ends_before_it_begins' }],
    [
      { from: '2025-03-01', to: '2026-03-02' },
      { outcome: 'too_long', maxDays: 366 },
    ],
    [{ tenantId: `ten_${'0'.repeat(26)}` }, { outcome: 'unknown_tenant' }],
  ])('refuses %o', async (input, expected) => {
    expect(await reportUsage(test, { from: null, to: null, by: [], tenantId: null, ...input })).toMatchObject(
      expected,
    );
  });

  it('every grouping says what a plain sum over all rows says', async () => {
    const tenant = await newTenant(test.db);
    await failed(test.db, tenant, { provider: 'kling', cost: billed('0.1234567891', 'units') });
    const orphaned = await started(test.db, tenant, { estimate: estimated('0.25') });
    await acceptAt(test.db, orphaned, null, 1, 'second');
    const unknown = await create(test.db, tenant);
    await answer(test.db, unknown, await send(test.db, unknown), 'unknown');
    const partial = await sold(test.db, tenant, { outputs: 2, lost: 1, cost: billed('0.1') });
    const refund = { generationId: partial, credits: 7, note: null, actor: 'x' };
    await refundGeneration(test.db, { ...refund, reason: 'one' });
    const columns = ['tenant', 'account', 'model', 'day', 'provider'] as const;
    const { from, to } = await report();
    for (let subset = 1; subset < 32; subset += 1) {
      const { by, rows } = await report({
        from,
        to,
        by: columns.filter((_, i) => (subset & (1 << i)) !== 0),
      });
      expect(rows).toEqual(await plainSums(test.db, by, from, to));
    }
    expect([(await report({ from, to })).total]).toEqual(await plainSums(test.db, [], from, to));
  });
});
