import { describe, expect, it } from 'vitest';
import type { NewEndpoint } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import {
  CALLBACK_URL,
  claim,
  claimedDelivery,
  claimNext,
  claimOne,
  deliveriesOf,
  deliveryOf,
  endedGeneration,
  endpointOf,
  record,
} from './webhooks.ts';

const test = useDatabase();
const DAY_MS = 86_400_000;
const claimedOnce = (over: Partial<NewEndpoint> = {}) => claimedDelivery(test, over);
const claimAgain = (deliveryId: number) => claimNext(test, deliveryId);

describe('the end of an endpoint', () => {
  const waiting = async (tenant: Tenant) =>
    tally((await deliveriesOf(test.db, tenant)).map(({ state }) => state));

  it('WHO-6 410 disables it at once: what waits is held', async () => {
    const { tenant, endpoint, deliveryId } = await claimedOnce();
    await endedGeneration(test.db, tenant);
    const recorded = await record(test.db, { deliveryId, attempt: 1 }, 'gone');
    expect(recorded).toEqual({ state: 'held', disabled: 'gone', endpointId: endpoint });
    expect(await endpointOf(test.db, endpoint)).toMatchObject({
      disabledAt: expect.any(Date) as Date,
      disabledReason: 'gone',
    });
    expect(await waiting(tenant)).toEqual({ held: 2 });
    await endedGeneration(test.db, tenant);
    expect(await waiting(tenant)).toEqual({ held: 3 });
  });

  it('five days without a success disable it, a success in between begins anew', async () => {
    const { tenant, endpoint, deliveryId } = await claimedOnce();
    const failingSince = (days: string) =>
      test.sql(`UPDATE webhook_endpoint SET failing_since = now() - $2::interval WHERE id = $1`, [
        endpoint,
        days,
      ]);
    await record(test.db, { deliveryId, attempt: 1 }, 'failed');
    await failingSince('4 days 23 hours');
    let attempt = await claimAgain(deliveryId);
    expect(await record(test.db, { deliveryId, attempt }, 'failed')).toMatchObject({ disabled: null });
    await failingSince('6 days');
    attempt = await claimAgain(deliveryId);
    await record(test.db, { deliveryId, attempt }, 'delivered');
    expect(await endpointOf(test.db, endpoint)).toMatchObject({
      failingSince: null,
      failures: 0,
      openUntil: null,
    });
    await endedGeneration(test.db, tenant);
    await endedGeneration(test.db, tenant);
    await test.sql(
      `UPDATE webhook_delivery SET next_attempt_at = now() + interval '1 hour' WHERE id = (SELECT max(id) FROM webhook_delivery)`,
    );
    const next = await claimOne(test.db);
    await record(test.db, next, 'failed');
    await failingSince('5 days 1 second');
    attempt = await claimAgain(next.deliveryId);
    expect(await record(test.db, { deliveryId: next.deliveryId, attempt }, 'failed')).toEqual({
      state: 'held',
      disabled: 'failing',
      endpointId: endpoint,
    });
    expect(await waiting(tenant)).toEqual({ delivered: 1, held: 2 });
    expect(await endpointOf(test.db, endpoint)).toMatchObject({ disabledReason: 'failing' });
  });

  it('its circuit opens with the fifth failure in a row and stays open longer each time, 5 minutes at most', async () => {
    const { endpoint, deliveryId } = await claimedOnce();
    const opens: (number | null)[] = [];
    for (let attempt = 1; attempt <= 13; attempt += 1) {
      const over = { delaysMs: Array.from({ length: 20 }, () => 0) };
      await record(test.db, { deliveryId, attempt }, 'failed', over);
      const [row] = await test.sql<{ seconds: number | null }>(
        `SELECT extract(epoch FROM e.open_until - a.at)::float8 AS seconds FROM webhook_endpoint e, webhook_attempt a
         WHERE e.id = $1 AND a.delivery_id = $2 AND a.attempt = $3`,
        [endpoint, deliveryId, attempt],
      );
      opens.push(row!.seconds);
      await claimAgain(deliveryId);
    }
    expect(opens).toEqual([null, null, null, null, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
    await record(test.db, { deliveryId, attempt: 14 }, 'delivered');
  });

  it('a 4xx that ends the delivery says nothing against an endpoint that chose so', async () => {
    const { endpoint, deliveryId } = await claimedOnce({ endOn4xx: true });
    const before = await endpointOf(test.db, endpoint);
    const recorded = await record(test.db, { deliveryId, attempt: 1 }, 'ended', { disableAfterMs: 0 });
    expect(recorded).toEqual({ state: 'failed', disabled: null, endpointId: endpoint });
    expect(await deliveryOf(test.db, deliveryId)).toMatchObject({ lastStatus: 422, nextAttemptAt: null });
    expect(await endpointOf(test.db, endpoint)).toEqual(before);
  });

  it('a callback_url has no endpoint to disable: 410 ends its delivery, other failures do not', async () => {
    const tenant = await newTenant(test.db);
    await endedGeneration(test.db, tenant, { callbackUrl: CALLBACK_URL });
    const { deliveryId } = await claimOne(test.db);
    const over = { disableAfterMs: 0 };
    expect(await record(test.db, { deliveryId, attempt: 1 }, 'failed', over)).toEqual({
      state: 'pending',
      disabled: null,
      endpointId: null,
    });
    const attempt = await claimAgain(deliveryId);
    expect(await record(test.db, { deliveryId, attempt }, 'gone', over)).toEqual({
      state: 'failed',
      disabled: null,
      endpointId: null,
    });
  });

  it('many attempts of one endpoint that end at once count each', async () => {
    const { tenant, endpoint, deliveryId } = await claimedOnce();
    await record(test.db, { deliveryId, attempt: 1 }, 'delivered');
    for (let i = 0; i < 8; i += 1) await endedGeneration(test.db, tenant);
    const claimed = await claim(test.db, { perTarget: 8 });
    expect(claimed).toHaveLength(8);
    await Promise.all(
      claimed.map((delivery) => record(test.db, delivery, 'failed', { disableAfterMs: DAY_MS })),
    );
    expect((await endpointOf(test.db, endpoint)).failures).toBe(8);
    expect(await waiting(tenant)).toEqual({ delivered: 1, pending: 8 });
  });
});
