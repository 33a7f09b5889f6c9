import { describe, expect, it } from 'vitest';
import {
  createGeneration,
  listUsageLimits,
  requestCancel,
  setUsageLimit,
  takeTenantRequest,
} from '../../src/db/index.ts';
import type { LimitReached, UsageLimits } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { accepted, create, newGeneration, newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

/** As wrappers.test.ts, for the limits. */
const test = useDatabase();
const by = { reason: 'contract', actor: 'ops' };
const NONE: UsageLimits = {
  generationsInFlight: null,
  creditsPerDay: null,
  requestsPerMinute: null,
  cancelsPerDay: null,
};

describe('limits', () => {
  const set = (
    tenant: Pick<Tenant, 'id'>,
    scope: 'tenant' | 'each_account' | 'account',
    limits: Partial<UsageLimits>,
    account: string | null = null,
  ) => setUsageLimit(test.db, { ...NONE, ...limits, tenantId: tenant.id, scope, account, ...by });
  const ms = expect.any(Number) as number;
  /** Windows begin a day later, so that the turn of a minute changes nothing. */
  const keepWindow = () =>
    test.sql(`UPDATE request_window SET window_start = window_start + interval '1 day'`);

  it('are set, listed and lifted', async () => {
    const tenant = await newTenant(test.db);
    const all: UsageLimits = {
      generationsInFlight: 7,
      creditsPerDay: 9_007_199_254_740_991,
      requestsPerMinute: 8,
      cancelsPerDay: 9,
    };
    expect(await listUsageLimits(test.db, tenant.id)).toEqual([]);
    expect(await set(tenant, 'account', all, 'default')).toEqual({ outcome: 'set' });
    expect(await set(tenant, 'each_account', { cancelsPerDay: 3 })).toEqual({ outcome: 'set' });
    expect(await set(tenant, 'tenant', NONE)).toEqual({ outcome: 'set' });
    expect(await set(tenant, 'account', NONE, 'nobody')).toEqual({ outcome: 'unknown_account' });
    expect(await set({ id: `ten_${'0'.repeat(26)}` }, 'tenant', NONE)).toEqual({ outcome: 'unknown_tenant' });
    expect(await listUsageLimits(test.db, tenant.id)).toEqual([
      { scope: 'tenant', account: null, ...NONE },
      { scope: 'each_account', account: null, ...NONE, cancelsPerDay: 3 },
      { scope: 'account', account: 'default', ...all },
    ]);
  });

  it('requests of a tenant: counted, refused, or not limited', async () => {
    const tenant = await newTenant(test.db);
    expect(await takeTenantRequest(test.db, tenant.id)).toBeNull();
    await set(tenant, 'tenant', { requestsPerMinute: 1 });
    expect(await takeTenantRequest(test.db, tenant.id)).toEqual({
      allowed: true,
      limit: 1,
      remaining: 0,
      resetInMs: ms,
    });
    await keepWindow();
    expect(await takeTenantRequest(test.db, tenant.id)).toEqual({
      allowed: false,
      limit: 1,
      remaining: 0,
      resetInMs: ms,
    });
  });

  it.each<[LimitReached['limit'], LimitReached['scope'], Partial<UsageLimits>, number]>([
    ['generations_in_flight', 'tenant', { generationsInFlight: 0 }, 0],
    ['credits_per_day', 'account', { creditsPerDay: 99 }, 99],
    ['requests_per_minute', 'account', { requestsPerMinute: 1 }, 1],
  ])('%s of one %s refuse a generation', async (limit, scope, limits, max) => {
    const tenant = await newTenant(test.db);
    await set(tenant, scope === 'tenant' ? 'tenant' : 'each_account', limits);
    if (limit === 'requests_per_minute') {
      await create(test.db, tenant);
      await keepWindow();
    }
    expect(await createGeneration(test.db, newGeneration(tenant))).toEqual({
      outcome: 'limit_reached',
      limit,
      scope,
      max,
      retryInMs: ms,
    });
  });

  it('cancels_per_day refuse a cancel', async () => {
    const tenant = await newTenant(test.db);
    await set(tenant, 'tenant', { cancelsPerDay: 0 });
    const generationId = await accepted(test.db, tenant);
    expect(await requestCancel(test.db, { generationId, tenantId: tenant.id, actor: 'tenant' })).toEqual({
      outcome: 'limit_reached',
      limit: 'cancels_per_day',
      scope: 'tenant',
      max: 0,
      retryInMs: ms,
      wake: false,
      run: null,
    });
  });
});
