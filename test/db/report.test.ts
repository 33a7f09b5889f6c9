import { describe, expect, it } from 'vitest';
import { refundGeneration } from '../../src/db/index.ts';
import type { UsageReport } from '../../src/services/report-usage.ts';
import { useDatabase } from './database.ts';
import { answer, create, newTenant, planFor, send } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { acceptAt, billed, deliver, estimated, failed, reportOf, sold, started } from './sales.ts';

const test = useDatabase();

const report = (input: Parameters<typeof reportOf>[1] = {}) => reportOf(test.db, input);
const of = (tenant: Tenant, by: UsageReport['by'] = []) => report({ tenantId: tenant.id, by });

describe('credits and costs', () => {
  it('a delivered generation: captured, and what the provider billed in the end', async () => {
    const tenant = await newTenant(test.db);
    await sold(test.db, tenant, { estimate: estimated('0.25'), cost: billed('0.3') });
    expect((await of(tenant)).total).toEqual({
      generations: 1,
      succeeded: 1,
      credits: { captured: 100, refunded: 0, net: 100 },
      costs: [{ unit: 'USD', final: '0.3', estimated: '0' }],
      jobs_without_cost: 0,
    });
  });

  it('sums decimals exactly, final amounts and estimates apart, units apart', async () => {
    const tenant = await newTenant(test.db);
    for (const amount of ['0.1', '0.2', '0.0000000001']) {
      await sold(test.db, tenant, { cost: billed(amount) });
    }
    await sold(test.db, tenant, { cost: billed('3', 'units') });
    await sold(test.db, tenant, { estimate: estimated('0.1') });
    await sold(test.db, tenant, { estimate: estimated('0.2') });
    const { total } = await of(tenant);
    expect(total.costs).toEqual([
      { unit: 'USD', final: '0.3000000001', estimated: '0.3' },
      { unit: 'units', final: '3', estimated: '0' },
    ]);
    expect(total.credits).toEqual({ captured: 600, refunded: 0, net: 600 });
  });

  it('counts the cost of a job that failed, and charges nothing for it', async () => {
    const tenant = await newTenant(test.db);
    await failed(test.db, tenant, { estimate: estimated('0.25'), cost: billed('0.05') });
    expect((await of(tenant)).total).toMatchObject({
      generations: 1,
      succeeded: 0,
      credits: { captured: 0, refunded: 0, net: 0 },
      costs: [{ unit: 'USD', final: '0.05', estimated: '0' }],
    });
  });

  it('counts a submit whose answer was lost, and none that proved that nothing was bought', async () => {
    const tenant = await newTenant(test.db);
    const estimatedCost = estimated('0.25');
    for (const kind of ['unknown', 'refused', 'not_sent', 'capacity'] as const) {
      const id = await create(test.db, tenant);
      await answer(test.db, id, await send(test.db, id, { estimatedCost }), kind);
    }
    expect((await of(tenant)).total).toMatchObject({
      generations: 4,
      costs: [{ unit: 'USD', final: '0', estimated: '0.25' }],
      jobs_without_cost: 0,
    });
  });

  it('counts each submission of a generation that failed over, at the provider where it arose', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await answer(test.db, id, await send(test.db, id, { estimatedCost: estimated('0.25') }), 'refused');
    // The refusal was wrong: the job was there all the same, and is billed.
    await acceptAt(test.db, id, billed('0.3'));
    await send(test.db, id, {
      ordinal: 2,
      provider: 'kling',
      routeIndex: 1,
      estimatedCost: estimated('3', 'units'),
    });
    await acceptAt(test.db, id, null, 2);
    await deliver(test.db, id, { cost: billed('2.5', 'units') }, 2);
    const { rows, total } = await of(tenant, ['provider']);
    expect(rows).toEqual([
      {
        provider: 'infro',
        generations: 0,
        succeeded: 0,
        credits: { captured: 0, refunded: 0, net: 0 },
        costs: [{ unit: 'USD', final: '0.3', estimated: '0' }],
        jobs_without_cost: 0,
      },
      {
        provider: 'kling',
        generations: 1,
        succeeded: 1,
        credits: { captured: 100, refunded: 0, net: 100 },
        costs: [{ unit: 'units', final: '2.5', estimated: '0' }],
        jobs_without_cost: 0,
      },
    ]);
    expect(total).toMatchObject({ generations: 1, succeeded: 1, credits: { captured: 100 } });
    expect(total.costs).toHaveLength(2);
  });

  it('counts an orphan job with the estimate of its submission once more', async () => {
    const tenant = await newTenant(test.db);
    // The frozen plan estimates 0.25 USD; the submission was billed 0.3 in the end.
    const id = await started(test.db, tenant, { estimate: estimated('0.25') });
    await acceptAt(test.db, id, null, 1, `second-${id}`);
    await deliver(test.db, id, { cost: billed('0.3') });
    const { total, to_look_into } = await of(tenant);
    expect(total.costs).toEqual([{ unit: 'USD', final: '0.3', estimated: '0.25' }]);
    expect(to_look_into.orphan_jobs).toMatchObject({
      count: 1,
      items: [
        {
          generation: id,
          tenant: tenant.id,
          provider: 'infro',
          job: `second-${id}`,
          amount: '0.25',
          unit: 'USD',
          final: false,
        },
      ],
    });
  });

  it('an orphan job of a route without an estimate costs what its submission did', async () => {
    const tenant = await newTenant(test.db);
    const plan = planFor();
    const routes = plan.routes.map((route) => ({ ...route, estimatedCost: null }));
    const id = await create(test.db, tenant, { plan: { ...plan, routes } });
    await send(test.db, id);
    await acceptAt(test.db, id, billed('0.07'));
    await acceptAt(test.db, id, null, 1, `second-${id}`);
    expect((await of(tenant)).total.costs).toEqual([{ unit: 'USD', final: '0.07', estimated: '0.07' }]);
  });

  it('says how many jobs have no known cost', async () => {
    const tenant = await newTenant(test.db);
    await sold(test.db, tenant);
    const id = await create(test.db, tenant);
    await answer(test.db, id, await send(test.db, id), 'unknown');
    expect((await of(tenant)).total).toMatchObject({ costs: [], jobs_without_cost: 2 });
  });

  it('refunds lower the net; a second reason adds up', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, { outputs: 3 });
    const refund = { generationId: id, note: null, actor: 'cli:ann' };
    await refundGeneration(test.db, { ...refund, credits: 40, reason: 'bad_output' });
    await refundGeneration(test.db, { ...refund, credits: 40, reason: 'bad_output' });
    await refundGeneration(test.db, { ...refund, credits: 10, reason: 'goodwill' });
    const { total, to_look_into } = await of(tenant);
    expect(total.credits).toEqual({ captured: 300, refunded: 50, net: 250 });
    expect(to_look_into.refunds.items.map(({ credits, reason, actor }) => [credits, reason, actor])).toEqual(
      expect.arrayContaining([
        [40, 'bad_output', 'cli:ann'],
        [10, 'goodwill', 'cli:ann'],
      ]),
    );
    expect(to_look_into.refunds.count).toBe(2);
  });
});
