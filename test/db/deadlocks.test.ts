import { describe, expect, it } from 'vitest';
import {
  claimDueGenerations,
  claimOutputs,
  claimSubmission,
  createGeneration,
  loadGeneration,
  parkGeneration,
  readCredits,
  renewOutput,
  requestCancel,
  settle,
} from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { balance, facts } from './facts.ts';
import { finish } from './finish.ts';
import {
  accept,
  accepted,
  answer,
  claimOf,
  create,
  grant,
  newGeneration,
  newTenant,
  observe,
  receive,
  send,
  store,
  storing,
} from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

const test = useDatabase({ poolSize: 24 });

/** Every function that writes, for one of the generations. */
function operations(tenant: Tenant, id: string, n: number): (() => Promise<unknown>)[] {
  const { db } = test;
  return [
    () => createGeneration(db, newGeneration(tenant)),
    () => grant(db, tenant, 10, `more-${n}`),
    () => grant(db, tenant, 10, 'shared key'),
    () => claimSubmission(db, claimOf(id, { leaseMs: 0 })),
    () => accept(db, id),
    () => answer(db, id, 1, 'unknown'),
    () => receive(db, { submissionId: submissionId(id, 1), terminal: true, jobId: `job-${id}` }),
    () => receive(db, { submissionId: null, terminal: true, jobId: `job-${id}` }),
    () => observe(db, id, 'running', { progress: (n % 10) / 10 }),
    () => observe(db, id, 'succeeded', { storeLeaseMs: 0 }),
    () => claimOutputs(db, { generationId: id, storeLeaseMs: 0 }),
    () => renewOutput(db, { generationId: id, index: 0, attempt: 1, storeLeaseMs: 0 }),
    () => store(db, id),
    () => settle(db, id, { state: 'succeeded', errorCode: null }),
    () => settle(db, id, { state: 'failed', errorCode: 'provider_failed' }),
    () => requestCancel(db, { generationId: id, tenantId: tenant.id, actor: 'tenant' }),
    () => loadGeneration(db, { generationId: id, dueInMs: -60_000, resume: true }),
    () => parkGeneration(db, { generationId: id, reason: 'test', dueInMs: -60_000 }),
    () => claimDueGenerations(db, { limit: 20, graceMs: 0 }),
    () => readCredits(db, tenant.id, 'default'),
  ];
}

describe('G7 no deadlock', () => {
  it('200 mixed operations on one account end without an error, and the account is exact', async () => {
    const { db } = test;
    const tenant = await newTenant(db, 10_000);
    const ids = await Promise.all([
      ...Array.from({ length: 3 }, () => create(db, tenant)),
      ...Array.from({ length: 3 }, () => accepted(db, tenant)),
      ...Array.from({ length: 4 }, () => storing(db, tenant)),
    ]);
    await Promise.all(ids.slice(0, 2).map((id) => send(db, id)));
    const calls = ids.flatMap((id, n) => operations(tenant, id, n));
    const shuffled = calls
      .map((call, i) => ({ call, at: (i * 7_919) % calls.length }))
      .toSorted((a, b) => a.at - b.at);
    const results = await Promise.allSettled(shuffled.map(({ call }) => call()));
    expect(calls).toHaveLength(200);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([]);

    const all = await db.prisma.generation.findMany({ where: { tenantId: tenant.id }, select: { id: true } });
    await Promise.all(all.map(({ id }) => finish(db, id)));
    const ends = await Promise.all(all.map(({ id }) => facts(db, id)));
    expect(ends.every(({ terminalEvents }) => terminalEvents === 1)).toBe(true);
    const spent = ends.reduce((sum, { captured }) => sum + captured, 0);
    expect(await readCredits(db, tenant.id, 'default')).toEqual(balance(10_110 - spent, 0, spent));
  });

  it('grants and creations of one account do not wait for each other in a circle', async () => {
    const { db } = test;
    const tenant = await newTenant(db, 6_000);
    const calls = Array.from({ length: 120 }, (_, i) =>
      i % 2 === 0 ? () => create(db, tenant) : () => grant(db, tenant, 1, `g${i}`),
    );
    const results = await Promise.allSettled(calls.map((call) => call()));
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await readCredits(db, tenant.id, 'default')).toEqual(balance(60, 6_000, 0));
  });
});
