import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  claimDeliveries,
  recordDeliveryAttempt,
  requestCancel,
  type ClaimedDelivery,
  type DeliveryAttempt,
} from '../../src/db/index.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, get, newTenant, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();
const newListener = () => newTenant(suite.db, { scopes: ['generations', 'webhooks'] });
const read = async (tenant: TestTenant, path: string) => (await get(suite.api.url, tenant, path)).json();
const post = (tenant: TestTenant, path: string, body: unknown = {}) =>
  sendJson(suite.api.url, tenant.key, { path, body });

async function endpointOf(tenant: TestTenant): Promise<string> {
  const answer = await sendJson(suite.api.url, tenant.key, {
    path: '/v1/webhook-endpoints',
    body: { url: 'https://hooks.example.com/' },
    headers: { 'Idempotency-Key': randomUUID() },
  });
  return answer.json()['id'] as string;
}

/** A generation that has ended, and so has something to tell. */
async function ended(tenant: TestTenant): Promise<string> {
  const id = (await create(suite.api.url, tenant)).json()['id'] as string;
  await requestCancel(suite.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
  return id;
}

async function claimed(tenant: TestTenant): Promise<ClaimedDelivery[]> {
  const all = await claimDeliveries(suite.db, { limit: 1_000, perTarget: 100, leaseMs: 60_000 });
  return all.filter(({ tenantId }) => tenantId === tenant.id);
}

async function attempt(
  { deliveryId, attempt }: ClaimedDelivery,
  over: Partial<DeliveryAttempt>,
  answer = '',
): Promise<void> {
  await recordDeliveryAttempt(
    suite.db,
    {
      deliveryId,
      attempt,
      outcome: 'failed',
      status: null,
      problem: null,
      durationMs: 12,
      retryAfterMs: null,
      delaysMs: [0, 3_600_000],
      disableAfterMs: 86_400_000,
      ...over,
    },
    Buffer.from(answer),
  );
}

describe('GET /v1/webhook-deliveries', () => {
  it('shows what became of an event, with the first 20,000 bytes of each answer', async () => {
    const tenant = await newListener();
    const endpoint = await endpointOf(tenant);
    const id = await ended(tenant);
    const { data } = (await read(tenant, '/v1/webhook-deliveries')) as { data: { id: string }[] };
    expect(data).toEqual([
      {
        id: expect.stringMatching(/^whd_\d+$/) as string,
        object: 'webhook_delivery',
        event_id: `evt_${id.slice(4)}_cancelled`,
        type: 'generation.cancelled',
        generation_id: id,
        endpoint_id: endpoint,
        state: 'pending',
        attempts: 0,
        next_attempt_at: expect.any(String) as string,
        last_status: null,
        last_problem: null,
        created_at: expect.any(String) as string,
        delivered_at: null,
      },
    ]);
    const [first] = await claimed(tenant);
    await attempt(first!, { status: 500, problem: 'http_status' }, `<html>${'x'.repeat(30_000)}`);
    const path = `/v1/webhook-deliveries/${data[0]!.id}`;
    const shown = (await read(tenant, path)) as { tries: { answer: string }[] };
    expect(shown).toMatchObject({
      state: 'pending',
      attempts: 1,
      last_status: 500,
      last_problem: 'http_status',
      tries: [
        {
          attempt: 1,
          duration_ms: 12,
          status: 500,
          problem: 'http_status',
          advice: 'It was answered with a status that is not 2xx.',
        },
      ],
    });
    expect(shown.tries[0]!.answer).toBe(`<html>${'x'.repeat(19_994)}`);
  });

  it('pages and filters; another tenant sees none of it', async () => {
    const tenant = await newListener();
    const [endpoint, second] = [await endpointOf(tenant), await endpointOf(tenant)];
    const ids = [await ended(tenant), await ended(tenant), await ended(tenant)];
    const seen: string[] = [];
    for (let after = ''; ;) {
      const page = (await read(tenant, `/v1/webhook-deliveries?limit=2${after}`)) as {
        data: { id: string }[];
        next_cursor: string | null;
      };
      seen.push(...page.data.map((delivery) => delivery.id));
      if (page.next_cursor === null) break;
      after = `&after=${page.next_cursor}`;
    }
    expect(new Set(seen).size).toBe(6);
    const of = async (query: string) =>
      ((await read(tenant, `/v1/webhook-deliveries?${query}`)) as { data: Record<string, unknown>[] }).data;
    expect((await of(`endpoint=${endpoint}`)).map((row) => row['endpoint_id'])).toEqual(
      Array(3).fill(endpoint),
    );
    expect(new Set((await of(`generation=${ids[1]}`)).map((row) => row['endpoint_id']))).toEqual(
      new Set([endpoint, second]),
    );
    expect(await of('state=delivered')).toEqual([]);
    const other = await newListener();
    expect((await read(other, '/v1/webhook-deliveries'))['data']).toEqual([]);
    expect(codeOf(await get(suite.api.url, other, `/v1/webhook-deliveries/${seen[0]}`))).toEqual([
      404,
      'webhook_delivery_not_found',
    ]);
    expect(codeOf(await get(suite.api.url, tenant, '/v1/webhook-deliveries?after=whd_1'))).toEqual([
      400,
      'invalid_cursor',
    ]);
  });
});

describe('sending again', () => {
  it('WHO-8 one that has failed for good, under its old id', async () => {
    const tenant = await newListener();
    await endpointOf(tenant);
    await ended(tenant);
    const [first] = await claimed(tenant);
    await attempt(first!, { outcome: 'ended', status: 400, problem: 'http_status' });
    const path = `/v1/webhook-deliveries/whd_${first!.deliveryId}`;
    expect(await read(tenant, path)).toMatchObject({ state: 'failed', next_attempt_at: null });
    const again = await post(tenant, `${path}/redeliver`);
    expect([again.status, again.json()]).toMatchObject([202, { state: 'pending', attempts: 1 }]);
    const [second] = await claimed(tenant);
    expect(second).toMatchObject({ deliveryId: first!.deliveryId, attempt: 2, eventId: first!.eventId });
    await attempt(second!, { outcome: 'delivered', status: 204 });
    expect(await read(tenant, path)).toMatchObject({
      state: 'delivered',
      attempts: 2,
      last_status: 204,
      last_problem: null,
    });
  });

  it('all that an endpoint missed since a time, once it is enabled again', async () => {
    const tenant = await newListener();
    const endpoint = await endpointOf(tenant);
    const path = `/v1/webhook-endpoints/${endpoint}`;
    await ended(tenant);
    const [first] = await claimed(tenant);
    await attempt(first!, { outcome: 'gone', status: 410, problem: 'gone' });
    expect(await read(tenant, path)).toMatchObject({ state: 'disabled', disabled_reason: 'gone' });
    await ended(tenant);
    const since = { since: '2026-01-01T00:00:00+09:00' };
    expect(codeOf(await post(tenant, `${path}/redeliver`, since))).toEqual([
      409,
      'webhook_endpoint_disabled',
    ]);
    await sendJson(suite.api.url, tenant.key, { method: 'PATCH', path, body: { enabled: true } });
    expect((await post(tenant, `${path}/redeliver`, { since: '2999-01-01T00:00:00Z' })).json()).toEqual({
      object: 'redelivery',
      count: 0,
      has_more: false,
      next_since: null,
    });
    expect((await post(tenant, `${path}/redeliver`, since)).json()).toEqual({
      object: 'redelivery',
      count: 2,
      has_more: false,
      next_since: null,
    });
    expect((await claimed(tenant)).length).toBe(2);
    expect(pathsOf(await post(tenant, `${path}/redeliver`, { since: 'yesterday' }))).toEqual(['/since']);
  });

  it('more than one call may send: each tells where the next goes on, so that none is sent for ever', async () => {
    const tenant = await newListener();
    const endpoint = await endpointOf(tenant);
    await suite.db.prisma.$executeRaw`
      WITH events AS (INSERT INTO webhook_event (id, tenant_id, type, body, created_at)
        SELECT 'evt_' || ${endpoint} || '_' || n, ${tenant.id}, 'webhook.test', '{}', now() - interval '1 hour' + n * interval '1 ms'
        FROM generate_series(1, 10001) AS n RETURNING *)
      INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, state, attempts, created_at, delivered_at)
      SELECT tenant_id, id, ${endpoint}, ${endpoint}, 'delivered', 1, created_at, created_at FROM events`;
    const path = `/v1/webhook-endpoints/${endpoint}/redeliver`;
    const first = (await post(tenant, path, { since: '2026-01-01T00:00:00Z', all: true })).json();
    expect(first).toMatchObject({ count: 10_000, has_more: true });
    const where = { endpointId: endpoint };
    // As if all had arrived: by `since` alone the same ones would be sent once more.
    await suite.db.prisma.webhookDelivery.updateMany({
      where,
      data: { state: 'delivered', nextAttemptAt: null },
    });
    const second = await post(tenant, path, { since: first['next_since'], all: true });
    expect(second.json()).toEqual({ object: 'redelivery', count: 1, has_more: false, next_since: null });
    await suite.db.prisma.webhookDelivery.updateMany({
      where,
      data: { state: 'cancelled', nextAttemptAt: null },
    });
  });

  it('a test event goes the way of all others', async () => {
    const tenant = await newListener();
    const endpoint = await endpointOf(tenant);
    const answer = await post(tenant, `/v1/webhook-endpoints/${endpoint}/test`);
    expect([answer.status, answer.json()]).toMatchObject([
      202,
      { type: 'webhook.test', generation_id: null, endpoint_id: endpoint, state: 'pending' },
    ]);
    const [test] = await claimed(tenant);
    expect(JSON.parse(test!.body!)).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String) as string,
      version: 1,
      id: test!.eventId,
      data: { message: 'This is a test. No generation has changed.' },
    });
  });
});
