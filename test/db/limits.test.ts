import { describe, expect, it } from 'vitest';
import {
  createGeneration,
  listUsageLimits,
  readCredits,
  requestCancel,
  setUsageLimit,
  settle,
  takeTenantRequest,
} from '../../src/db/index.ts';
import type { UsageLimits } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { balance } from './facts.ts';
import { accepted, create, grant, newGeneration, newTenant, sold } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { captured, delivered, failedAtProvider, FAILED, SUCCEEDED } from './money.ts';
import { awayFromTheTurn } from './turns.ts';

const test = useDatabase({ poolSize: 30 });
const NONE: UsageLimits = {
  generationsInFlight: null,
  creditsPerDay: null,
  requestsPerMinute: null,
  cancelsPerDay: null,
};
type Scope = 'tenant' | 'each_account' | 'account';

const limit = (tenant: Tenant, scope: Scope, limits: Partial<UsageLimits>, account: string | null = null) =>
  setUsageLimit(test.db, {
    ...NONE,
    ...limits,
    tenantId: tenant.id,
    scope,
    account,
    reason: 'contract',
    actor: 'ops',
  });
const times = <T>(count: number, run: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));
const outcomes = (answers: readonly { readonly outcome: string }[]) =>
  tally(answers.map(({ outcome }) => outcome));
const cancel = (tenant: Tenant, generationId: string) =>
  requestCancel(test.db, { generationId, tenantId: tenant.id, actor: 'tenant' });

/** A tenant with five accounts of 1,000 credits each. */
async function fiveAccounts(): Promise<{ tenant: Tenant; accounts: string[] }> {
  const tenant = await newTenant(test.db, 0);
  const accounts = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(accounts.map((account) => grant(test.db, tenant, 1_000, account, account)));
  return { tenant, accounts };
}

describe('generations in flight', () => {
  it('of a tenant: of 30 at once over five accounts exactly 7 pass', async () => {
    const { tenant, accounts } = await fiveAccounts();
    await limit(tenant, 'tenant', { generationsInFlight: 7 });
    const answers = await times(30, (n) =>
      createGeneration(test.db, newGeneration(tenant, { account: accounts[n % 5]! })),
    );
    expect(outcomes(answers)).toEqual({ created: 7, limit_reached: 23 });
    expect(answers.find(({ outcome }) => outcome === 'limit_reached')).toEqual({
      outcome: 'limit_reached',
      limit: 'generations_in_flight',
      scope: 'tenant',
      max: 7,
      retryInMs: 5_000,
    });
    expect(await test.sql('SELECT 1 FROM generation WHERE tenant_id = $1', [tenant.id])).toHaveLength(7);
  });

  it('of each account: of 30 at once on each of two exactly 4 pass; an account of its own has its own', async () => {
    const tenant = await newTenant(test.db, 5_000);
    await grant(test.db, tenant, 5_000, 'vip', 'vip');
    await limit(tenant, 'each_account', { generationsInFlight: 4 });
    await limit(tenant, 'account', { generationsInFlight: 6 }, 'vip');
    const answers = await times(60, (n) =>
      createGeneration(test.db, newGeneration(tenant, { account: n % 2 === 0 ? 'default' : 'vip' })),
    );
    expect(outcomes(answers.filter((_, n) => n % 2 === 0))).toEqual({ created: 4, limit_reached: 26 });
    expect(outcomes(answers.filter((_, n) => n % 2 === 1))).toEqual({ created: 6, limit_reached: 24 });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(4_600, 400, 0));
  });

  it('G8 15 in a row fail at the provider with at most 10 in flight: each release lets one more in, none is left', async () => {
    const tenant = await newTenant(test.db, 1_500);
    await limit(tenant, 'each_account', { generationsInFlight: 10 });
    const ids = await times(10, () => failedAtProvider(test.db, tenant));
    expect(await createGeneration(test.db, newGeneration(tenant))).toMatchObject({
      outcome: 'limit_reached',
    });
    for (const id of ids.slice(0, 5)) {
      await settle(test.db, id, FAILED);
      ids.push(await failedAtProvider(test.db, tenant));
    }
    await Promise.all(ids.slice(5).map((id) => settle(test.db, id, FAILED)));
    expect(ids).toHaveLength(15);
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_500, 0, 0));
  });

  it('G8 a repeat of what is paid for is replayed, also at the limit, and holds nothing again', async () => {
    const tenant = await newTenant(test.db, 500);
    const request = newGeneration(tenant);
    await createGeneration(test.db, request);
    await limit(tenant, 'tenant', { generationsInFlight: 1 });
    expect(await createGeneration(test.db, newGeneration(tenant))).toMatchObject({
      outcome: 'limit_reached',
    });
    const twins = await times(10, () => createGeneration(test.db, request));
    expect(outcomes(twins)).toEqual({ replayed: 10 });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(400, 100, 0));
  });

  it('a refused call leaves its key free and holds nothing', async () => {
    const tenant = await newTenant(test.db, 500);
    await limit(tenant, 'tenant', { generationsInFlight: 0 });
    const request = newGeneration(tenant);
    expect(await createGeneration(test.db, request)).toMatchObject({ outcome: 'limit_reached', max: 0 });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(500, 0, 0));
    await limit(tenant, 'tenant', {});
    expect(await createGeneration(test.db, request)).toMatchObject({ outcome: 'created' });
  });
});

describe('credits a day', () => {
  it.each(['tenant', 'each_account'] as const)(
    'of the %s: of 30 at once exactly what fits',
    async (scope) => {
      await awayFromTheTurn('day');
      const tenant = await newTenant(test.db, 10_000);
      await limit(tenant, scope, { creditsPerDay: 750 });
      const answers = await times(30, () => createGeneration(test.db, newGeneration(tenant)));
      expect(outcomes(answers)).toEqual({ created: 7, limit_reached: 23 });
      const refused = answers.find(({ outcome }) => outcome === 'limit_reached');
      expect(refused).toMatchObject({ limit: 'credits_per_day', max: 750 });
      expect(refused).toHaveProperty('scope', scope === 'tenant' ? 'tenant' : 'account');
      const leftMs = 86_400_000 - (Date.now() % 86_400_000);
      const { retryInMs } = refused as { retryInMs: number };
      expect(Math.abs(retryInMs - leftMs)).toBeLessThan(60_000);
      expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(9_300, 700, 0));
    },
  );

  it('counts what is held and what was captured, not what was released nor what is of yesterday', async () => {
    await awayFromTheTurn('day');
    const tenant = await newTenant(test.db, 10_000);
    await settle(test.db, await failedAtProvider(test.db, tenant), FAILED);
    const partly = await delivered(test.db, tenant, 2, 100);
    await settle(test.db, partly, SUCCEEDED);
    const yesterday = await create(test.db, tenant, { credits: 5_000 });
    await test.sql(
      `SET session_replication_role = replica;
       UPDATE generation SET created_at = created_at - interval '1 day' WHERE id = '${yesterday}';
       SET session_replication_role = DEFAULT`,
    );
    await limit(tenant, 'each_account', { creditsPerDay: 300 });
    expect(await createGeneration(test.db, newGeneration(tenant, { credits: 101 }))).toMatchObject({
      outcome: 'limit_reached',
    });
    expect((await createGeneration(test.db, newGeneration(tenant, sold(1, 100)))).outcome).toBe('created');
  });
});

describe('requests a minute', () => {
  it('of a tenant: of 30 at once exactly 12 pass, and the next minute begins anew', async () => {
    await awayFromTheTurn('minute');
    const tenant = await newTenant(test.db);
    expect(await takeTenantRequest(test.db, tenant.id)).toBeNull();
    await limit(tenant, 'tenant', { requestsPerMinute: 12 });
    const taken = await times(30, () => takeTenantRequest(test.db, tenant.id));
    expect(taken.filter((request) => request?.allowed)).toHaveLength(12);
    expect(taken.map((request) => request?.remaining).toSorted((a, b) => b! - a!)).toEqual([
      ...Array.from({ length: 12 }, (_, n) => 11 - n),
      ...Array.from({ length: 18 }, () => 0),
    ]);
    for (const request of taken) {
      expect(request?.limit).toBe(12);
      expect(request?.resetInMs).toBeLessThanOrEqual(60_000);
    }
    await test.sql(
      `UPDATE request_window SET window_start = window_start - interval '1 minute' WHERE tenant_id = $1`,
      [tenant.id],
    );
    expect(await takeTenantRequest(test.db, tenant.id)).toMatchObject({ allowed: true, remaining: 11 });
  });

  it('of an account: of 30 creations at once exactly 9 pass, refused ones count too', async () => {
    await awayFromTheTurn('minute');
    const tenant = await newTenant(test.db, 10_000);
    await limit(tenant, 'each_account', { requestsPerMinute: 9 });
    const answers = await times(30, () => createGeneration(test.db, newGeneration(tenant)));
    expect(outcomes(answers)).toEqual({ created: 9, limit_reached: 21 });
    expect(answers.find(({ outcome }) => outcome === 'limit_reached')).toMatchObject({
      limit: 'requests_per_minute',
      scope: 'account',
      max: 9,
    });
    const window = await test.sql('SELECT count FROM request_window WHERE tenant_id = $1', [tenant.id]);
    expect(window).toEqual([{ count: 30 }]);
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(9_100, 900, 0));
  });
});

describe('cancels after acceptance a day', () => {
  it.each(['tenant', 'each_account'] as const)('of the %s: of 30 at once exactly 5 pass', async (scope) => {
    await awayFromTheTurn('day');
    const tenant = await newTenant(test.db, 3_500);
    const ids = await times(30, () => accepted(test.db, tenant));
    await limit(tenant, scope, { cancelsPerDay: 5 });
    const answers = await Promise.all(ids.map((id) => cancel(tenant, id)));
    expect(outcomes(answers)).toEqual({ requested: 5, limit_reached: 25 });
    const flagged = ids.find((_, n) => answers[n]!.outcome === 'requested')!;
    expect(await cancel(tenant, flagged)).toMatchObject({ outcome: 'requested' });
    // What no provider has is free to cancel, and an operator always may.
    const unsent = await create(test.db, tenant);
    expect(await cancel(tenant, unsent)).toMatchObject({ outcome: 'cancelled' });
    const refused = ids.find((_, n) => answers[n]!.outcome === 'limit_reached')!;
    const byOperator = { generationId: refused, tenantId: null, actor: 'operator' } as const;
    expect(await requestCancel(test.db, byOperator)).toMatchObject({ outcome: 'requested' });
    expect(await cancel(tenant, await captured(test.db, tenant))).toMatchObject({
      outcome: 'already_terminal',
    });
  });
});

describe('set_usage_limit', () => {
  it('replaces the limits of one scope, lists them, and keeps who and why', async () => {
    const tenant = await newTenant(test.db);
    await limit(tenant, 'account', { creditsPerDay: 5 }, 'default');
    await limit(tenant, 'each_account', { cancelsPerDay: 3 });
    await limit(tenant, 'tenant', { generationsInFlight: 1 });
    expect(await limit(tenant, 'tenant', { requestsPerMinute: 2 })).toEqual({ outcome: 'set' });
    expect(await listUsageLimits(test.db, tenant.id)).toEqual([
      { ...NONE, scope: 'tenant', account: null, requestsPerMinute: 2 },
      { ...NONE, scope: 'each_account', account: null, cancelsPerDay: 3 },
      { ...NONE, scope: 'account', account: 'default', creditsPerDay: 5 },
    ]);
    const actions = await test.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id } });
    expect(actions).toHaveLength(4);
    expect(actions[3]).toMatchObject({
      kind: 'usage_limit',
      actor: 'ops',
      reason: 'contract',
      detail: { scope: 'tenant', requestsPerMinute: 2 },
    });
  });

  it('says what it does not know', async () => {
    const tenant = await newTenant(test.db);
    expect(await limit({ ...tenant, id: `ten_${'0'.repeat(26)}` }, 'tenant', {})).toEqual({
      outcome: 'unknown_tenant',
    });
    expect(await limit(tenant, 'account', {}, 'nobody')).toEqual({ outcome: 'unknown_account' });
  });
});
