import { describe, expect, it } from 'vitest';
import {
  deleteOutputs,
  parkGeneration,
  refundGeneration,
  setProviderBudget,
  settle,
} from '../../src/db/index.ts';
import type { UsageReport } from '../../src/services/report-usage.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { newTenant, observe } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { acceptAt, billed, estimated, failed, moveTo, reportOf, sold, started } from './sales.ts';
import { awayFromTheTurn } from './turns.ts';

const test = useDatabase();
const report = (input: Parameters<typeof reportOf>[1] = {}) => reportOf(test.db, input);
const of = (tenant: Tenant) => report({ tenantId: tenant.id });

describe('to look into', () => {
  it('late successes with their cost', async () => {
    const tenant = await newTenant(test.db);
    const id = await failed(test.db, tenant, { estimate: estimated('0.25') });
    await observe(test.db, id, 'succeeded', { cost: billed('0.27') });
    expect((await of(tenant)).to_look_into.late_successes).toMatchObject({
      count: 1,
      items: [
        { generation: id, provider: 'infro', job: `job-${id}-1`, amount: '0.27', unit: 'USD', final: true },
      ],
    });
  });

  it('durations that differ by more than half a second, not by half a second', async () => {
    const tenant = await newTenant(test.db);
    const ids = [];
    for (const renderedSeconds of [5, 4.5, 5.5, 4.49, 5.51]) {
      ids.push(await sold(test.db, tenant, { renderedSeconds }));
    }
    const { durations } = (await of(tenant)).to_look_into;
    expect(durations.count).toBe(2);
    expect(durations.items).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ generation: ids[3], output: 0, priced_seconds: 5, rendered_seconds: 4.49 }),
        expect.objectContaining({ generation: ids[4], priced_seconds: 5, rendered_seconds: 5.51 }),
      ]),
    );
  });

  it('of one generation and moment in one order, whatever was written last', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, { outputs: 3, renderedSeconds: 7 });
    for (const index of [2, 1, 0]) {
      await test.sql(
        `UPDATE output SET stored_at = '2026-03-12T08:00:00Z' WHERE generation_id = $1 AND index = $2`,
        [id, index],
      );
    }
    const day = { from: '2026-03-12', to: '2026-03-12' };
    const { durations } = (await report({ ...day, tenantId: tenant.id })).to_look_into;
    expect(durations.items.map(({ output }) => output)).toEqual([0, 1, 2]);
  });

  it('partial deliveries, also when what was stored is expired; no whole ones', async () => {
    const tenant = await newTenant(test.db);
    const id = await sold(test.db, tenant, { outputs: 3, lost: 1 });
    const whole = await sold(test.db, tenant, { outputs: 2 });
    const expected = {
      count: 1,
      items: [{ generation: id, model: 'infro-video', stored: 2, expected: 3, captured: 200, held: 300 }],
    };
    expect((await of(tenant)).to_look_into.partial_deliveries).toMatchObject(expected);
    for (const expired of [id, whole]) {
      const { count } = await deleteOutputs(test.db, { generationId: expired, tenantId: tenant.id });
      expect(count).toBe(2);
    }
    expect((await of(tenant)).to_look_into.partial_deliveries).toMatchObject(expected);
  });

  it('generations that need an operator, whenever they were created, until they have gone on', async () => {
    const tenant = await newTenant(test.db);
    const id = await started(test.db, tenant);
    await parkGeneration(test.db, { generationId: id, reason: 'step_failed', dueInMs: 1_000 });
    await moveTo(test.db, id, { created: '2026-03-10T08:00:00Z' });
    expect((await of(tenant)).to_look_into.needs_operator).toMatchObject({
      count: 1,
      items: [{ generation: id, reason: 'step_failed', model: 'infro-video' }],
    });
    const before = await report({ tenantId: tenant.id, from: '2026-03-01', to: '2026-03-09' });
    expect(before.to_look_into.needs_operator.count).toBe(0);
    await observe(test.db, id, 'failed');
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
    expect((await of(tenant)).to_look_into.needs_operator.count).toBe(0);
  });

  it('budgets that are reached, before and after a submit was refused for it', async () => {
    await awayFromTheTurn('day');
    const tenant = await newTenant(test.db);
    const budget = { provider: 'runway', unit: 'credits', reason: 'test', actor: 'test' };
    await setProviderBudget(test.db, { ...budget, amountPerDay: '5' });
    const send5 = () => started(test.db, tenant, { provider: 'runway', estimate: estimated('5', 'credits') });
    expect((await report()).to_look_into.budgets_reached.count).toBe(0);
    await send5();
    const reached = { provider: 'runway', amount: '5', spent: '5', unit: 'credits' };
    expect((await report()).to_look_into.budgets_reached.items).toMatchObject([{ ...reached, at: null }]);
    await expect(send5()).rejects.toThrow('provider_closed');
    expect((await report()).to_look_into.budgets_reached.items).toMatchObject([
      { ...reached, at: expect.stringMatching(/Z$/) as string },
    ]);
    expect((await report({ from: '2026-03-01', to: '2026-03-01' })).to_look_into.budgets_reached.count).toBe(
      0,
    );
  });

  it('a day on which a budget was reached stays in its report', async () => {
    const tenant = await newTenant(test.db);
    const id = await started(test.db, tenant, { provider: 'fal', estimate: estimated('1.4') });
    await moveTo(test.db, id, { sent: '2026-03-10T08:00:00Z' });
    await setProviderBudget(test.db, {
      provider: 'fal',
      unit: 'USD',
      amountPerDay: '1.50',
      reason: 'test',
      actor: 'test',
    });
    await test.sql(`UPDATE provider_budget SET reached_at = '2026-03-10T09:00:00Z' WHERE provider = 'fal'`);
    const { budgets_reached } = (await report({ from: '2026-03-10', to: '2026-03-10' })).to_look_into;
    expect(budgets_reached).toEqual({
      count: 1,
      items: [
        {
          provider: 'fal',
          day: '2026-03-10',
          amount: '1.5',
          spent: '1.4',
          unit: 'USD',
          at: '2026-03-10T09:00:00.000Z',
        },
      ],
    });
  });

  it('nothing of another tenant, and nothing outside the window', async () => {
    const [one, two] = [await newTenant(test.db), await newTenant(test.db)];
    const id = await sold(test.db, one, { outputs: 2, lost: 1, renderedSeconds: 9 });
    await acceptAt(test.db, id, null, 1, `second-${id}`);
    await refundGeneration(test.db, { generationId: id, credits: 1, reason: 'r', note: null, actor: 'x' });
    const counts = (found: UsageReport) =>
      Object.entries(found.to_look_into)
        .filter(([name]) => name !== 'budgets_reached' && name !== 'stray_jobs')
        .map(([, { count }]) => count as number);
    expect(counts(await of(one))).toEqual([0, 1, 1, 1, 1, 0]);
    expect(counts(await of(two))).toEqual([0, 0, 0, 0, 0, 0]);
    expect(counts(await report({ from: '2026-03-01', to: '2026-03-01' }))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('stray jobs, of no tenant and so of every report, in their window', async () => {
    const jobs = async (window: object) => (await report(window)).to_look_into.stray_jobs;
    expect((await jobs({})).count).toBe(0);
    await test.sql(
      `INSERT INTO stray_job (provider, credential, provider_job_id, found_by) VALUES ('kling', 'main', 'stray-1', 'history')`,
    );
    expect(await jobs({})).toMatchObject({
      count: 1,
      items: [{ provider: 'kling', job: 'stray-1', found_by: 'history' }],
    });
    expect((await jobs({ from: '2026-03-01', to: '2026-03-01' })).count).toBe(0);
  });

  it('keeps the newest hundred of a kind and counts the rest', async () => {
    const tenant = await newTenant(test.db, 20_000);
    const id = await sold(test.db, tenant, { outputs: 99 });
    await test.sql(
      `INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
       SELECT 'infro', 'main', 'many-' || i, $1 FROM generate_series(1, 120) AS i`,
      [submissionId(id, 1)],
    );
    const { orphan_jobs } = (await of(tenant)).to_look_into;
    expect(orphan_jobs.count).toBe(120);
    expect(orphan_jobs.items).toHaveLength(100);
  });
});
