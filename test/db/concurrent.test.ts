import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createGeneration,
  listAccountEntries,
  readCredits,
  refundGeneration,
  requestCancel,
  resolveGeneration,
  settle,
} from '../../src/db/index.ts';
import type { Proposal } from '../../src/db/index.ts';
import { useDatabase, violations } from './database.ts';
import {
  accepted,
  create,
  grant,
  newGeneration,
  newTenant,
  observe,
  sold,
  store,
  storing,
} from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

const test = useDatabase({ poolSize: 20 });
const GRANTED = 200;
const EACH = 10;
const by = { reason: 'looked into', actor: 'op' };

/** What one answer says that it has done to the account, and how it says that the generation has ended. */
interface Told {
  readonly granted?: number;
  readonly held?: number;
  readonly spent?: number;
  readonly end?: { readonly id: string; readonly state: string; readonly first: boolean };
}
type Call = (tenant: Tenant, ids: readonly string[]) => Promise<Told>;

/** Generations of two outputs: two to be captured, one failed at the provider, one queued past its deadline, one accepted. */
async function prepare(tenant: Tenant): Promise<string[]> {
  const { db } = test;
  const delivered = await Promise.all([storing(db, tenant, 2, EACH), storing(db, tenant, 2, EACH)]);
  for (const id of delivered) await Promise.all([store(db, id, { index: 0 }), store(db, id, { index: 1 })]);
  const failed = await accepted(db, tenant, sold(2, EACH));
  await observe(db, failed, 'failed');
  const queued = await create(db, tenant, { ...sold(2, EACH), deadlineSeconds: 0 });
  return [...delivered, failed, queued, await accepted(db, tenant, sold(2, EACH))];
}

const calls = {
  create: (outputs: number) => async (tenant: Tenant) => {
    const { outcome } = await createGeneration(test.db, newGeneration(tenant, sold(outputs, EACH)));
    return outcome === 'created' ? { held: outputs * EACH } : {};
  },
  grant: (key: string, credits: number) => async (tenant: Tenant) =>
    (await grant(test.db, tenant, credits, key)).outcome === 'granted' ? { granted: credits } : {},
  settle: (n: number, proposal: Proposal) => async (_tenant: Tenant, ids: readonly string[]) => {
    const id = ids[n]!;
    const { outcome, state, captured } = await settle(test.db, id, proposal);
    if (outcome === 'stale') return {};
    const end = { id, state, first: outcome === 'settled' };
    return end.first ? { held: -2 * EACH, spent: captured, end } : { end };
  },
  cancel: (n: number) => async (_tenant: Tenant, ids: readonly string[]) => {
    const id = ids[n]!;
    const { outcome } = await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    return outcome === 'cancelled' ? { held: -2 * EACH, end: { id, state: 'cancelled', first: true } } : {};
  },
  resolve: (n: number, state: 'failed' | 'succeeded') => async (_tenant: Tenant, ids: readonly string[]) => {
    const id = ids[n]!;
    const errorCode = state === 'failed' ? 'provider_failed' : null;
    const answer = await resolveGeneration(test.db, { generationId: id, state, errorCode, ...by });
    if (answer.outcome === 'already_terminal') return { end: { id, state: answer.state, first: false } };
    if (answer.outcome !== 'resolved') return {};
    return { held: -2 * EACH, spent: answer.captured, end: { id, state: answer.state, first: true } };
  },
  refund:
    (n: number, reason: string, credits: number | null) =>
    async (_tenant: Tenant, ids: readonly string[]) => {
      const request = { generationId: ids[n]!, credits, reason, note: null, actor: 'op' };
      const answer = await refundGeneration(test.db, request);
      return answer.outcome === 'refunded' ? { spent: -answer.credits } : {};
    },
};

const one = fc.nat(4);
const proposals = fc.constantFrom<Proposal>(
  { state: 'succeeded', errorCode: null },
  { state: 'failed', errorCode: 'provider_failed' },
  { state: 'cancelled', errorCode: null },
  { state: 'expired', errorCode: 'deadline_exceeded' },
);
const reasons = fc.constantFrom('quality', 'late');
const anyCall: fc.Arbitrary<Call> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 6 }).map(calls.create) },
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom(50, 70)).map((args) => calls.grant(...args)),
  { weight: 3, arbitrary: fc.tuple(one, proposals).map((args) => calls.settle(...args)) },
  one.map(calls.cancel),
  fc.tuple(one, fc.constantFrom('failed', 'succeeded')).map((args) => calls.resolve(...args)),
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(1), reasons, fc.constantFrom(null, 1, 15))
      .map((args) => calls.refund(...args)),
  },
);
const batch = fc.array(anyCall, { minLength: 12, maxLength: 24, size: 'max' });

/** Every end has one first caller, and all who were told of it were told the same state, which is the one that stands. */
async function expectOneEnd(told: readonly Told[]): Promise<void> {
  const ends = told.flatMap(({ end }) => end ?? []);
  for (const id of new Set(ends.map((end) => end.id))) {
    const same = ends.filter((end) => end.id === id);
    expect(same.filter(({ first }) => first)).toHaveLength(1);
    const { state } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    expect(new Set(same.map((end) => end.state))).toEqual(new Set([state]));
  }
}

describe('concurrent calls against what they were answered', () => {
  it('the account is the sum of the answers, each generation ends once, and nobody is told otherwise', async () => {
    await fc.assert(
      fc.asyncProperty(batch, batch, async (first, second) => {
        const { db } = test;
        const tenant = await newTenant(db, GRANTED);
        const ids = await prepare(tenant);
        const told: Told[] = [{ granted: GRANTED, held: ids.length * 2 * EACH }];
        for (const group of [first, second])
          told.push(...(await Promise.all(group.map((call) => call(tenant, ids)))));
        const sum = (field: 'granted' | 'held' | 'spent') =>
          told.reduce((all, { [field]: value }) => all + (value ?? 0), 0);
        const [granted, held, spent] = [sum('granted'), sum('held'), sum('spent')];
        const available = granted - held - spent;
        expect(await readCredits(db, tenant.id, 'default')).toEqual({ available, held, spent, granted });
        const page = { tenantId: tenant.id, account: 'default', limit: 1_000, before: null };
        const entries = (await listAccountEntries(db, page)) ?? [];
        expect(entries.reduce((all, entry) => all + entry.available, 0)).toBe(available);
        expect(entries.reduce((all, entry) => all + entry.held, 0)).toBe(held);
        await expectOneEnd(told);
        expect(await violations(db)).toEqual({});
      }),
      { numRuns: 10 },
    );
  }, 120_000);
});
