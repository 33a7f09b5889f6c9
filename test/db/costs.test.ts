import { describe, expect, it } from 'vitest';
import { readCredits, recordSubmission, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { balance, submissionOf } from './facts.ts';
import { accept, answer, create, newTenant, observe, send, store } from './fixtures.ts';
import { EXPIRED, FAILED, SUCCEEDED } from './money.ts';

const test = useDatabase();
const estimate = { estimatedCost: { amount: '0.25', unit: 'USD' } };
const cost = (amount: string, final: boolean) => ({ cost: { amount, unit: 'USD', final } });
const costOf = async (id: string, ordinal = 1) => {
  const { costAmount, costUnit, costFinal, costSource, costAt } = await submissionOf(test.db, id, ordinal);
  return costAt === null ? null : [costAmount, costUnit, costFinal ? 'final' : 'estimate', costSource];
};

/** A generation whose job is accepted, with what the submit itself told of the cost. */
async function accepted(told: { amount: string; unit: string; final: boolean } | null): Promise<string> {
  const id = await create(test.db, await newTenant(test.db));
  await send(test.db, id, estimate);
  await recordSubmission(test.db, {
    submissionId: submissionId(id, 1),
    kind: 'accepted',
    jobId: `job-${id}`,
    handle: { jobId: `job-${id}` },
    providerStatus: null,
    cost: told,
    dueInMs: 60_000,
  });
  return id;
}

describe('what a provider bills for a submission', () => {
  it('is the estimate of the catalogue until the provider tells, then what it told', async () => {
    const id = await accepted(null);
    expect(await costOf(id)).toEqual(['0.25', 'USD', 'estimate', 'catalogue']);
    await observe(test.db, id, 'running', cost('0.3', false));
    expect(await costOf(id)).toEqual(['0.3', 'USD', 'estimate', 'observation']);
    await observe(test.db, id, 'succeeded', cost('0.28', true));
    expect(await costOf(id)).toEqual(['0.28', 'USD', 'final', 'observation']);
  });

  it('once final is changed by no estimate and by no other final amount', async () => {
    const id = await accepted({ amount: '1.5', unit: 'units', final: true });
    await observe(test.db, id, 'running', cost('9', false));
    await observe(test.db, id, 'failed', cost('8', true));
    expect(await costOf(id)).toEqual(['1.5', 'units', 'final', 'submit']);
  });

  it('an observation without an amount leaves what stands', async () => {
    const id = await accepted({ amount: '0.2', unit: 'USD', final: false });
    await observe(test.db, id, 'running');
    expect(await costOf(id)).toEqual(['0.2', 'USD', 'estimate', 'submit']);
  });

  it('stays with each submission: the one that failed over, the unknown one, the failed job', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id, estimate), 'refused');
    expect(await costOf(id)).toBeNull();
    await send(test.db, id, {
      ordinal: 2,
      provider: 'other',
      estimatedCost: { amount: '3', unit: 'credits' },
    });
    await accept(test.db, id, `job-${id}`, 2);
    await observe(test.db, id, 'failed', {
      submissionId: submissionId(id, 2),
      cost: { amount: '2', unit: 'credits', final: true },
    });
    await settle(test.db, id, FAILED);
    expect([await costOf(id), await costOf(id, 2)]).toEqual([null, ['2', 'credits', 'final', 'observation']]);
  });

  it('may come after the end: booked, listed as a late success, nothing changes for the tenant', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant, { deadlineSeconds: 0 });
    await send(test.db, id, estimate);
    await accept(test.db, id);
    await settle(test.db, id, EXPIRED);
    expect(await costOf(id)).toEqual(['0.25', 'USD', 'estimate', 'catalogue']);
    await observe(test.db, id, 'succeeded', cost('0.4', true));
    await observe(test.db, id, 'succeeded', cost('0.4', true));
    expect(await costOf(id)).toEqual(['0.4', 'USD', 'final', 'observation']);
    expect(
      await test.sql('SELECT generation_id AS id FROM late_success WHERE generation_id = $1', [id]),
    ).toEqual([{ id }]);
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_000, 0, 0));
  });

  it('T45 an end without any cost data is settled by the rule: captured at its price, the cost stays unknown', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await send(test.db, id);
    await accept(test.db, id);
    await observe(test.db, id, 'succeeded', { cost: null });
    await store(test.db, id);
    expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ outcome: 'settled', captured: 100 });
    expect(await costOf(id)).toBeNull();
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(900, 0, 100));
  });

  it.each(['-0.01', 'free', 'NaN'])('is never %s', async (amount) => {
    const id = await accepted(null);
    await expect(observe(test.db, id, 'running', cost(amount, false))).rejects.toThrow(
      /submission_cost_not_negative|numeric/,
    );
    expect(await costOf(id)).toEqual(['0.25', 'USD', 'estimate', 'catalogue']);
  });
});
