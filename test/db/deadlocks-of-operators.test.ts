import { afterEach, describe, expect, it } from 'vitest';
import {
  claimDueGenerations,
  claimLateObservations,
  claimSubmission,
  createGeneration,
  postponeLateSearch,
  readCredits,
  settle,
} from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import {
  attachJobByOperator,
  cancelByOperator,
  declareNotAccepted,
  observeByOperator,
  retryStoringByOperator,
  wakeByOperator,
} from '../../src/db/operator-actions.ts';
import { pauseTarget, resumeTarget, type PauseKind } from '../../src/db/pauses.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { balance, facts } from './facts.ts';
import { finish } from './finish.ts';
import {
  accept,
  accepted,
  answer,
  claimOf,
  create,
  newGeneration,
  newTenant,
  observe,
  receive,
  send,
  store,
  storing,
  type Tenant,
} from './fixtures.ts';
import { FAILED, SUCCEEDED } from './money.ts';

const test = useDatabase({ poolSize: 24 });
const LATE = { limit: 10, leaseMs: 0, providers: ['infro'] };

/** Without the tries that `Db.call` makes after a deadlock: there shall be none to get over. */
const strict = (): Db => ({
  ...test.db,
  prisma: test.db.prisma,
  async call(name, params, result, extra) {
    const args = extra === undefined ? '$1::jsonb' : '$1::jsonb, $2::bytea';
    const values: unknown[] = [JSON.stringify(params), ...(extra === undefined ? [] : [extra])];
    const rows = await test.db.prisma.$queryRawUnsafe<{ result: unknown }[]>(
      `SELECT ${name}(${args}) AS result`,
      ...values,
    );
    return result.parse(rows[0]?.result ?? null);
  },
});

/** What operators do, between what runs, tenants and providers do with the same generation. */
function operations(tenant: Tenant, id: string, n: number): (() => Promise<unknown>)[] {
  const { db } = test;
  const by = { generationId: id, actor: 'cli:ann', reason: 'ticket 4711' };
  const target: { kind: PauseKind; target: string } =
    n % 3 === 0
      ? { kind: 'tenant', target: tenant.id }
      : n % 3 === 1
        ? { kind: 'model', target: 'infro-video' }
        : { kind: 'provider', target: 'infro' };
  const change = { ...target, actor: 'cli:ann', reason: 'ticket 4711' };
  const resubmit = n % 2 === 0;
  return [
    () => wakeByOperator(db, by),
    () => cancelByOperator(db, by),
    () => observeByOperator(db, by),
    () => retryStoringByOperator(db, { ...by, hours: 1 }),
    () => attachJobByOperator(db, { ...by, submission: null, jobId: `job-${id}` }),
    () => attachJobByOperator(db, { ...by, submission: null, jobId: 'job-of-all' }),
    () => receive(db, { submissionId: submissionId(id, 1), jobId: 'job-of-all' }),
    () => declareNotAccepted(db, { ...by, submission: null, resubmit }),
    () => declareNotAccepted(db, { ...by, submission: submissionId(id, 1), resubmit: !resubmit }),
    () => pauseTarget(db, change),
    () => resumeTarget(db, change),
    () => resumeTarget(db, { ...change, kind: 'tenant', target: tenant.id }),
    () => claimSubmission(db, claimOf(id, { leaseMs: 0 })),
    () => claimSubmission(db, claimOf(id, { leaseMs: 0, ordinal: 2 })),
    () => answer(db, id, 1, 'unknown'),
    () => accept(db, id),
    () => receive(db, { submissionId: submissionId(id, 1), terminal: true, jobId: `job-${id}` }),
    () => observe(db, id, 'succeeded', { storeLeaseMs: 0 }),
    () => store(db, id),
    () => settle(db, id, SUCCEEDED),
    () => settle(db, id, FAILED),
    () => claimDueGenerations(db, { limit: 20, graceMs: 0 }),
    async () => {
      const late = await claimLateObservations(db, LATE);
      await Promise.all(late.map(({ submissionId: of }) => postponeLateSearch(db, of, n % 2 === 0)));
    },
    () => createGeneration(db, newGeneration(tenant)),
  ];
}

describe('G7 no deadlock between operators and runs', () => {
  // Whoever came last of those who paused and resumed has left it so.
  afterEach(async () => {
    const by = { actor: 'cli:ann', reason: 'ticket 4711' };
    await resumeTarget(test.db, { kind: 'model', target: 'infro-video', ...by });
    await resumeTarget(test.db, { kind: 'provider', target: 'infro', ...by });
  });

  it('384 operations on one account end without an error, each generation ends once, and the account is exact', async () => {
    const { db } = test;
    const tenant = await newTenant(db, 10_000);
    const unknown = async () => {
      const id = await create(db, tenant);
      await answer(db, id, await send(db, id), 'unknown');
      return id;
    };
    const ids = await Promise.all([
      ...Array.from({ length: 2 }, () => create(db, tenant)),
      ...Array.from({ length: 4 }, unknown),
      accepted(db, tenant),
      storing(db, tenant),
    ]);
    // First everything about one generation at once, each time from another beginning; then about all of them mixed.
    const crowded = ids.flatMap((id, n) => {
      const all = operations(tenant, id, n);
      return [...all.slice((n * 5) % 24), ...all.slice(0, (n * 5) % 24)];
    });
    const mixed = crowded
      .map((call, i) => ({ call, at: (i * 7_919) % crowded.length }))
      .toSorted((one, two) => one.at - two.at)
      .map(({ call }) => call);
    const calls = [...crowded, ...mixed];
    const results = await Promise.allSettled(calls.map((call) => call()));
    expect(calls).toHaveLength(384);
    expect(
      results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
    ).toEqual([]);

    const all = await db.prisma.generation.findMany({ where: { tenantId: tenant.id }, select: { id: true } });
    await Promise.all(all.map(({ id }) => finish(db, id)));
    const ends = await Promise.all(all.map(({ id }) => facts(db, id)));
    expect(tally(ends.map(({ terminalEvents }) => `${terminalEvents}`))).toEqual({ '1': all.length });
    const spent = ends.reduce((sum, { captured }) => sum + captured, 0);
    expect(await readCredits(db, tenant.id, 'default')).toEqual(balance(10_000 - spent, 0, spent));
    const jobs = await db.prisma.submission.groupBy({
      by: ['providerJobId'],
      where: { generation: { tenantId: tenant.id }, providerJobId: { not: null } },
      _count: true,
    });
    expect(jobs.every(({ _count }) => _count === 1)).toBe(true);
  });

  it('a job named from three sides, and pauses while runs claim: each lock comes in the same order', async () => {
    const db = strict();
    const tenant = await newTenant(db, 10_000);
    const unknown = async () => {
      const id = await create(db, tenant);
      await answer(db, id, await send(db, id), 'unknown');
      return id;
    };
    const named = await Promise.all(Array.from({ length: 6 }, unknown));
    const queued = await Promise.all(Array.from({ length: 6 }, () => create(db, tenant)));
    const by = { actor: 'cli:ann', reason: 'ticket 4711' };
    const pause = { ...by, kind: 'tenant', target: tenant.id } as const;
    const calls = named.flatMap((generationId, n) => {
      const jobId = `job-${generationId}`;
      const inbox = { submissionId: submissionId(generationId, 1), jobId };
      return Array.from({ length: 4 }, () => [
        () => attachJobByOperator(db, { ...by, generationId, submission: null, jobId }),
        () => receive(db, inbox),
        () => attachJobByOperator(db, { ...by, generationId, submission: null, jobId }),
        () => accept(db, generationId),
        () => pauseTarget(db, pause),
        () => claimSubmission(db, claimOf(queued[n]!, { leaseMs: 0 })),
        () => resumeTarget(db, pause),
        () => claimSubmission(db, claimOf(queued[n]!, { leaseMs: 0 })),
      ]).flat();
    });
    const results = await Promise.allSettled(calls.map((call) => call()));
    expect(
      results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
    ).toEqual([]);
    expect(
      await db.prisma.submission.count({ where: { generationId: { in: named }, state: 'accepted' } }),
    ).toBe(6);
  });
});
