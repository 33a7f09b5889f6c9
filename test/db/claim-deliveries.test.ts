import { afterEach, describe, expect, it } from 'vitest';
import { redeliverWebhooks, rotateWebhookSecret, updateWebhookEndpoint } from '../../src/db/index.ts';
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
  newDefaultSecret,
  newEndpoint,
  record,
} from './webhooks.ts';

const test = useDatabase({ poolSize: 16 });
const DAY_MS = 86_400_000;

/** Many due deliveries of one endpoint, without the cost of their generations; the older the smaller. */
async function pile(tenant: Tenant, endpointId: string, count: number): Promise<void> {
  await test.sql(
    `WITH told AS (INSERT INTO webhook_event (id, tenant_id, type, body, created_at)
       SELECT 'evt_pile_' || $2 || '_' || i, $1, 'webhook.test', '{}', now() FROM generate_series(1, $3::int) AS i RETURNING id)
     INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, next_attempt_at, created_at)
     SELECT $1, id, $2, $2, now() - interval '1 hour' + split_part(id, '_', 5)::int * interval '1 millisecond', now() FROM told`,
    [tenant.id, endpointId, count],
  );
}
const byEndpoint = (claimed: readonly { endpointId: string | null }[]) =>
  tally(claimed.map(({ endpointId }) => endpointId ?? 'callback_url'));

// What one test leaves would be claimed by the next.
afterEach(() =>
  test.sql(
    `UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL, leased_until = NULL WHERE state = 'pending'`,
  ),
);

describe('claim_deliveries', () => {
  it('gives all that an attempt needs, with every secret that signs now, newest first', async () => {
    const tenant = await newTenant(test.db);
    const endpoint = await newEndpoint(test.db, tenant, { url: 'https://a.example/x', endOn4xx: true });
    const rotate = { tenantId: tenant.id, endpointId: endpoint, keyId: 'k2', overlapMs: DAY_MS };
    await rotateWebhookSecret(test.db, rotate, Buffer.from('second'));
    await newDefaultSecret(test.db, tenant);
    const id = await endedGeneration(test.db, tenant, { callbackUrl: CALLBACK_URL });
    const event = { eventId: `evt_${id.slice(4)}_cancelled`, type: 'generation.cancelled', body: null };
    const of = { ...event, attempt: 1, generationId: id, tenantId: tenant.id };
    const claimed = await claim(test.db);
    expect(claimed.toSorted((a, b) => a.deliveryId - b.deliveryId)).toMatchObject([
      {
        ...of,
        endpointId: endpoint,
        url: 'https://a.example/x',
        endOn4xx: true,
        secrets: [
          { sealed: Buffer.from('second'), keyId: 'k2' },
          { sealed: Buffer.from('first'), keyId: 'k1' },
        ],
      },
      {
        ...of,
        endpointId: null,
        url: CALLBACK_URL,
        endOn4xx: false,
        secrets: [{ sealed: Buffer.from('default'), keyId: 'k1' }],
      },
    ]);
  });

  it('WHO-9 nobody else gets it before its lease is over, then it is the next attempt', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const first = await claimOne(test.db);
    expect(await claim(test.db)).toEqual([]);
    await test.sql(
      `UPDATE webhook_delivery SET leased_until = now(), next_attempt_at = now() WHERE id = $1`,
      [first.deliveryId],
    );
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: first.deliveryId, attempt: 2 });
  });

  it('WHO-7 at most so many of one receiver and of one tenant are under way, oldest first', async () => {
    const tenant = await newTenant(test.db);
    const endpoints = [];
    for (let i = 0; i < 3; i += 1) {
      const id = await newEndpoint(test.db, tenant);
      await pile(tenant, id, 10);
      endpoints.push(id);
    }
    const first = await claim(test.db, { perTarget: 3, perTenant: 7 });
    expect(first).toHaveLength(7);
    expect(Math.max(...Object.values(byEndpoint(first)))).toBe(3);
    expect(first.every(({ eventId }) => /_[123]$/.test(eventId))).toBe(true);
    expect(await claim(test.db, { perTarget: 3, perTenant: 7 })).toEqual([]);
    expect(await claim(test.db, { perTarget: 3, perTenant: 8 })).toHaveLength(1);
    await record(test.db, first[0]!, 'delivered');
    expect(await claim(test.db, { perTarget: 3, perTenant: 8 })).toHaveLength(1);
    expect(await claim(test.db, { perTarget: 10, limit: 2 })).toHaveLength(2);
  });

  it('WHO-7 a receiver with 5,000 due does not keep the others from being claimed', async () => {
    const busy = await newTenant(test.db);
    const crowded = await newEndpoint(test.db, busy);
    await pile(busy, crowded, 5_000);
    const quiet = [];
    for (let i = 0; i < 8; i += 1) {
      const tenant = await newTenant(test.db);
      const id = await newEndpoint(test.db, tenant);
      await pile(tenant, id, 1);
      quiet.push(id);
    }
    const claimed = byEndpoint(await claim(test.db, { limit: 12 }));
    expect(claimed).toEqual({ [crowded]: 4, ...Object.fromEntries(quiet.map((id) => [id, 1])) });
  });

  it('who waits longest comes first, whatever its name', async () => {
    const tenant = await newTenant(test.db);
    const ids = [];
    for (const minutes of [5, 30, 1, 10]) {
      const id = await newEndpoint(test.db, tenant);
      await pile(tenant, id, 1);
      await test.sql(
        `UPDATE webhook_delivery SET next_attempt_at = now() - $2 * interval '1 minute' WHERE target = $1`,
        [id, minutes],
      );
      ids.push(id);
    }
    const order = [];
    for (let i = 0; i < 4; i += 1) order.push((await claim(test.db, { limit: 1 }))[0]!.endpointId);
    expect(order).toEqual([ids[1], ids[3], ids[0], ids[2]]);
  });

  it('claimers at once share the work: every delivery once', async () => {
    const tenant = await newTenant(test.db);
    for (let i = 0; i < 10; i += 1) await pile(tenant, await newEndpoint(test.db, tenant), 20);
    const rounds = await Promise.all(
      Array.from({ length: 16 }, () => claim(test.db, { limit: 15, perTarget: 20 })),
    );
    const ids = rounds.flat().map(({ deliveryId }) => deliveryId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(200);
  });

  it('a delivery whose attempt is just being recorded is left alone, and the others are not kept waiting', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const [late, other] = await claim(test.db, { leaseMs: 0 });
    const recorder = await test.connect();
    await recorder.query('BEGIN');
    await recorder.query(
      `UPDATE webhook_delivery SET state = 'delivered', delivered_at = now(), next_attempt_at = NULL, leased_until = NULL WHERE id = $1`,
      [late!.deliveryId],
    );
    expect(await claimOne(test.db)).toMatchObject({ deliveryId: other!.deliveryId, attempt: 2 });
    await recorder.query('COMMIT');
    expect(await deliveryOf(test.db, late!.deliveryId)).toMatchObject({ state: 'delivered', attempts: 1 });
  });
});

describe('a receiver that fails', () => {
  async function failing(): Promise<{ tenant: Tenant; endpoint: string }> {
    const tenant = await newTenant(test.db);
    const endpoint = await newEndpoint(test.db, tenant);
    await pile(tenant, endpoint, 20);
    const claimed = await claim(test.db, { perTarget: 5 });
    for (const delivery of claimed) await record(test.db, delivery, 'failed');
    // Longer than 5 s, however slow the machine is; where nothing was closed, nothing is now.
    await test.sql(`UPDATE webhook_endpoint SET open_until = open_until + interval '1 hour' WHERE id = $1`, [
      endpoint,
    ]);
    return { tenant, endpoint };
  }
  const letTry = (endpoint: string) =>
    test.sql(`UPDATE webhook_endpoint SET open_until = now() WHERE id = $1`, [endpoint]);

  it('five times in a row gets nothing for a while, then one at a time', async () => {
    const { tenant, endpoint } = await failing();
    expect(await claim(test.db)).toEqual([]);
    const other = await newEndpoint(test.db, tenant);
    await pile(tenant, other, 1);
    expect(byEndpoint(await claim(test.db))).toEqual({ [other]: 1 });
    await letTry(endpoint);
    const probe = await claimOne(test.db);
    expect(await claim(test.db)).toEqual([]);
    await record(test.db, probe, 'failed');
    expect(await claim(test.db)).toEqual([]);
    await letTry(endpoint);
    await record(test.db, await claimOne(test.db), 'delivered');
    expect(await claim(test.db)).toHaveLength(4);
  });

  it('a disabled one gets none, also of what was told in the moment it was disabled', async () => {
    const tenant = await newTenant(test.db);
    const endpoint = await newEndpoint(test.db, tenant);
    await updateWebhookEndpoint(test.db, { endpointId: endpoint, tenantId: tenant.id, enabled: false });
    await pile(tenant, endpoint, 3);
    expect(await claim(test.db)).toEqual([]);
    const states = (await deliveriesOf(test.db, tenant)).map(({ state }) => state);
    expect(tally(states)).toEqual({ held: 3 });
    await updateWebhookEndpoint(test.db, { endpointId: endpoint, tenantId: tenant.id, enabled: true });
    expect(await claim(test.db)).toEqual([]);
    const again = { tenantId: tenant.id, endpointId: endpoint, since: '2020-01-01T00:00:00Z', all: false };
    await redeliverWebhooks(test.db, { ...again, limit: 10 });
    expect(await claim(test.db)).toHaveLength(3);
  });

  it('a deleted one gets none, and nothing waits for it', async () => {
    const tenant = await newTenant(test.db);
    const endpoint = await newEndpoint(test.db, tenant);
    await pile(tenant, endpoint, 2);
    await test.sql(`UPDATE webhook_endpoint SET deleted_at = now() WHERE id = $1`, [endpoint]);
    expect(await claim(test.db)).toEqual([]);
    expect(tally((await deliveriesOf(test.db, tenant)).map(({ state }) => state))).toEqual({ cancelled: 2 });
  });
});
