import { afterEach, describe, expect, it } from 'vitest';
import { deleteWebhookEndpoint, redeliverWebhooks, updateWebhookEndpoint } from '../../src/db/index.ts';
import type { Redelivery } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import {
  CALLBACK_URL,
  claim,
  claimOne,
  deliveriesOf,
  deliveryOf,
  endedGeneration,
  newEndpoint,
  record,
} from './webhooks.ts';

const test = useDatabase();
const LONG_AGO = '2020-01-01T00:00:00Z';

// What one test leaves would be claimed by the next.
afterEach(() =>
  test.sql(
    `UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL, leased_until = NULL WHERE state = 'pending'`,
  ),
);

/** A delivery of one endpoint after ten failed attempts. */
async function failed(tenant: Tenant): Promise<number> {
  await endedGeneration(test.db, tenant);
  const { deliveryId } = await claimOne(test.db);
  await test.sql('UPDATE webhook_delivery SET attempts = 10 WHERE id = $1', [deliveryId]);
  await record(test.db, { deliveryId, attempt: 10 }, 'failed');
  await test.sql('UPDATE webhook_endpoint SET failures = 0, open_until = NULL');
  return deliveryId;
}
async function delivered(tenant: Tenant): Promise<number> {
  await endedGeneration(test.db, tenant);
  const claimed = await claimOne(test.db);
  await record(test.db, claimed, 'delivered');
  return claimed.deliveryId;
}
const again = (params: Redelivery) => redeliverWebhooks(test.db, params);
const ONE = { outcome: 'redelivering', count: 1, more: false, next: null };

describe('WHO-8 one delivery again', () => {
  it('failed or delivered: due at once, with the whole schedule before it', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const [lost, seen] = [await failed(tenant), await delivered(tenant)];
    expect(await again({ tenantId: tenant.id, deliveryId: lost })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: lost, attempt: 11 });
    const left = Array.from({ length: 10 }, () => 0);
    for (let attempt = 11; attempt <= 20; attempt += 1) {
      const { state } = await record(test.db, { deliveryId: lost, attempt }, 'failed', { delaysMs: left });
      expect(state).toBe(attempt < 20 ? 'pending' : 'failed');
      await test.sql('UPDATE webhook_endpoint SET failures = 0, open_until = NULL');
      if (attempt < 20) await claimOne(test.db);
    }
    expect(await again({ tenantId: tenant.id, deliveryId: seen })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: seen, attempt: 2 });
    const { deliveredAt } = await deliveryOf(test.db, seen);
    await record(test.db, { deliveryId: seen, attempt: 2 }, 'delivered');
    expect(await deliveryOf(test.db, seen)).toMatchObject({ state: 'delivered', deliveredAt });
  });

  it('one that waits for its next attempt is due now', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const first = await claimOne(test.db);
    await record(test.db, first, 'failed', { retryAfterMs: 3_600_000 });
    expect(await claim(test.db)).toEqual([]);
    await again({ tenantId: tenant.id, deliveryId: first.deliveryId });
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: first.deliveryId, attempt: 2 });
  });

  it('of a callback_url as well', async () => {
    const tenant = await newTenant(test.db);
    await endedGeneration(test.db, tenant, { callbackUrl: CALLBACK_URL });
    const { deliveryId } = await claimOne(test.db);
    await record(test.db, { deliveryId, attempt: 1 }, 'gone');
    const other = await newTenant(test.db);
    expect(await again({ tenantId: other.id, deliveryId })).toEqual({ outcome: 'not_found' });
    expect(await again({ tenantId: tenant.id, deliveryId })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId, url: CALLBACK_URL });
  });

  it('not of another tenant, nor of an endpoint that is disabled or deleted', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const endpointId = await newEndpoint(test.db, tenant);
    const deliveryId = await failed(tenant);
    expect(await again({ tenantId: other.id, deliveryId })).toEqual({ outcome: 'not_found' });
    expect(await again({ tenantId: tenant.id, deliveryId: 999_999_999 })).toEqual({ outcome: 'not_found' });
    const all = { endpointId, since: LONG_AGO, all: true, limit: 10 };
    expect(await again({ ...all, tenantId: other.id })).toEqual({ outcome: 'not_found' });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled: false });
    expect(await again({ tenantId: tenant.id, deliveryId })).toEqual({ outcome: 'endpoint_disabled' });
    expect(await again({ ...all, tenantId: tenant.id })).toEqual({ outcome: 'endpoint_disabled' });
    await deleteWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id });
    expect(await again({ tenantId: tenant.id, deliveryId })).toEqual({ outcome: 'endpoint_deleted' });
    expect(await again({ ...all, tenantId: tenant.id })).toEqual({ outcome: 'not_found' });
    expect(await deliveryOf(test.db, deliveryId)).toMatchObject({ state: 'failed', attempts: 10 });
  });
});

describe('all since a time', () => {
  it('what was missed, or with `all` also what was taken; nothing of another endpoint', async () => {
    const tenant = await newTenant(test.db);
    const types = ['generation.cancelled'];
    const endpointId = await newEndpoint(test.db, tenant, { types });
    const [lost, seen] = [await failed(tenant), await delivered(tenant)];
    const otherId = await newEndpoint(test.db, tenant, { types });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled: false });
    await endedGeneration(test.db, tenant);
    await record(test.db, await claimOne(test.db), 'failed', { delaysMs: [0] });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled: true });
    const rows = await deliveriesOf(test.db, tenant);
    const held = Number(rows.find(({ state }) => state === 'held')!.id);
    const params = { tenantId: tenant.id, endpointId, limit: 10 };
    const newer = (await deliveryOf(test.db, lost)).createdAt.getTime() + 1;
    const since = new Date(newer).toISOString();
    expect(await again({ ...params, since, all: false })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: held });
    expect(await again({ ...params, since: LONG_AGO, all: false })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: lost });
    expect(await again({ ...params, since: LONG_AGO, all: true })).toEqual(ONE);
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: seen });
    const others = (await deliveriesOf(test.db, tenant)).filter((row) => row.endpointId === otherId);
    expect(tally(others.map(({ state }) => state))).toEqual({ failed: 1 });
    expect(await again({ ...params, since: '2999-01-01T00:00:00Z', all: true })).toEqual({
      ...ONE,
      count: 0,
    });
  });

  it('at most so many in one call, oldest first, and from where to go on', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push(await delivered(tenant));
    await test.sql(
      `UPDATE webhook_delivery SET created_at = timestamptz '2026-11-01 00:00Z' + (9999999 - id) * interval '1 second' WHERE endpoint_id = $1`,
      [endpointId],
    );
    const params = { tenantId: tenant.id, endpointId, all: true, limit: 2 };
    const order = [];
    let since: string | null = LONG_AGO;
    for (let call = 1; since !== null; call += 1) {
      const told = await again({ ...params, since });
      if (told.outcome !== 'redelivering') throw new Error(told.outcome);
      expect([told.count, told.more]).toEqual(call < 3 ? [2, true] : [1, false]);
      const claimed = await claim(test.db, { perTarget: 9 });
      order.push(...claimed.map(({ deliveryId }) => deliveryId).toSorted((a, b) => b - a));
      for (const delivery of claimed) await record(test.db, delivery, 'delivered');
      since = told.next;
    }
    expect(order).toEqual(ids.toReversed());
  });
});
