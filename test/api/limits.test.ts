import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tally } from '../db/database.ts';
import { accept, send as sendToProvider } from '../db/fixtures.ts';
import { send, type Answer } from './client.ts';
import { useApi } from './suite.ts';
import { BODY, create, get, grant, newTenant, rowsOf, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();

const NO_LIMITS = {
  scope: 'tenant',
  generations_in_flight: null,
  credits_per_day: null,
  requests_per_minute: null,
  cancels_per_day: null,
  reason: 'test',
};

async function limit(tenant: TestTenant, limits: object): Promise<void> {
  const body = { ...NO_LIMITS, ...limits };
  const path = `/admin/v1/tenants/${tenant.id}/limits`;
  const answer = await sendJson(suite.api.url, suite.operator.key, { method: 'PUT', path, body });
  expect(answer.status, answer.text).toBe(200);
}

function cancel(tenant: TestTenant, id: string): Promise<Answer> {
  const path = `/v1/generations/${id}/cancel`;
  return send(suite.api.url, { method: 'POST', path, headers: { Authorization: `Bearer ${tenant.key}` } });
}

/** Waits for a new minute of the database when the present one is nearly over, so that a test has one window, and one day. */
async function withinOneMinute(): Promise<void> {
  await suite.db.prisma.$queryRaw`
    SELECT CASE WHEN extract(second FROM clock_timestamp()) > 50
      THEN pg_sleep(60.1 - extract(second FROM clock_timestamp())) END::text`;
}

describe('requests a minute of a tenant', () => {
  it('every answer says what is left, also a refusal; above it 429 until the minute is over', async () => {
    const tenant = await newTenant(suite.db);
    await limit(tenant, { requests_per_minute: 5 });
    await withinOneMinute();
    const answers = [
      await get(suite.api.url, tenant, '/v1/credits'),
      await get(suite.api.url, tenant, '/v1/generations/gen_x'),
      await sendJson(suite.api.url, tenant.key, { path: '/v1/credits/grants', body: { credits: 1 } }),
      await create(suite.api.url, tenant, { key: 'k', body: { ...BODY, x: 1 } }),
      await create(suite.api.url, tenant, { key: 'k' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 403, 400, 202]);
    answers.forEach(({ headers }, index) => {
      expect(headers['ratelimit-policy']).toBe('"tenant";q=5;w=60');
      expect(headers['ratelimit']).toMatch(new RegExp(`^"tenant";r=${4 - index};t=([1-9]|[1-5]\\d|60)$`));
    });
    const refused = await create(suite.api.url, tenant, { key: 'k' });
    expect(refused.json()).toMatchObject({
      status: 429,
      code: 'rate_limited',
      limit: 'requests_per_minute',
      scope: 'tenant',
      max: 5,
      detail: expect.stringContaining('Retry-After') as string,
    });
    expect(refused.headers['ratelimit']).toMatch(/^"tenant";r=0;t=\d+$/);
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1 });
    // The minute is over for this tenant.
    await suite.db.prisma.$executeRaw`
      UPDATE request_window SET window_start = window_start - interval '1 minute' WHERE tenant_id = ${tenant.id}`;
    const later = await create(suite.api.url, tenant, { key: 'k' });
    expect([later.status, later.headers['idempotent-replayed']]).toEqual([202, 'true']);
  }, 90_000);

  it('thirty at once on a limit of ten: exactly ten pass', async () => {
    const tenant = await newTenant(suite.db);
    await limit(tenant, { requests_per_minute: 10 });
    await withinOneMinute();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => get(suite.api.url, tenant, '/v1/models')),
    );
    expect(tally(answers.map(({ status }) => String(status)))).toEqual({ 200: 10, 429: 20 });
    const left = answers.map(({ headers }) => Number(/;r=(\d+);/.exec(String(headers['ratelimit']))?.[1]));
    expect(left.filter((count) => count > 0).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }, 90_000);

  it('without such a limit there are no headers and no count; other tenants and keys of none are not counted', async () => {
    const [limited, free] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    await limit(limited, { requests_per_minute: 1 });
    await limit(free, { generations_in_flight: 5 });
    await withinOneMinute();
    await get(suite.api.url, limited, '/v1/models');
    const answer = await get(suite.api.url, free, '/v1/models');
    expect([answer.status, answer.headers['ratelimit'], answer.headers['ratelimit-policy']]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    const wrong = await send(suite.api.url, {
      path: '/v1/models',
      headers: { Authorization: 'Bearer dk_x' },
    });
    expect([wrong.status, wrong.headers['ratelimit']]).toEqual([401, undefined]);
    expect(await suite.db.prisma.requestWindow.count({ where: { tenantId: free.id } })).toBe(0);
    await limit(limited, {});
    expect((await get(suite.api.url, limited, '/v1/models')).status).toBe(200);
  }, 90_000);
});

describe('limits of new generations', () => {
  it('thirty at once on ten in flight: exactly ten are taken', async () => {
    const tenant = await newTenant(suite.db);
    await limit(tenant, { generations_in_flight: 10 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => create(suite.api.url, tenant)));
    expect(tally(answers.map(({ status }) => String(status)))).toEqual({ 202: 10, 429: 20 });
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expect(answer.json()).toMatchObject({
        code: 'too_many_generations',
        limit: 'generations_in_flight',
        scope: 'tenant',
        max: 10,
      });
      expect(answer.headers['retry-after']).toBe('5');
    }
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 10, holds: 10, held: 1_000 });
  });

  it('A2 a key whose first try ended in 402 or 429 is free for a fresh one', async () => {
    const tenant = await newTenant(suite.db, { credits: 150 });
    const key = randomUUID();
    const body = { ...BODY, input: { prompt: 'x', duration_seconds: 10 } };
    expect((await create(suite.api.url, tenant, { key, body })).status).toBe(402);
    await grant(suite.db, tenant.id, 'default', 150);
    await limit(tenant, { generations_in_flight: 1 });
    const other = (await create(suite.api.url, tenant)).json()['id'] as string;
    expect((await create(suite.api.url, tenant, { key, body })).json()['code']).toBe('too_many_generations');
    // Even another body: nothing stands under the key yet.
    expect((await create(suite.api.url, tenant, { key })).json()['code']).toBe('too_many_generations');
    expect((await cancel(tenant, other)).status).toBe(200);
    const taken = await create(suite.api.url, tenant, { key, body });
    expect([taken.status, taken.headers['idempotent-replayed']]).toEqual([202, undefined]);
    // A replay is no new generation, so the limit does not refuse it.
    const replay = await create(suite.api.url, tenant, { key, body });
    expect([replay.status, replay.text]).toEqual([202, taken.text]);
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 2, holds: 1, held: 200 });
  });

  it('credits a day: of the account or of the tenant, to the credit, until midnight', async () => {
    const tenant = await newTenant(suite.db);
    await grant(suite.db, tenant.id, 'user-1', 1_000);
    await limit(tenant, { credits_per_day: 300 });
    await limit(tenant, { scope: 'account', account: 'user-1', credits_per_day: 150 });
    await withinOneMinute();
    const of = (account: string) => create(suite.api.url, tenant, { body: { ...BODY, account } });
    expect((await of('user-1')).status).toBe(202);
    const second = await of('user-1');
    expect(second.json()).toMatchObject({
      status: 429,
      code: 'daily_credits_reached',
      limit: 'credits_per_day',
      scope: 'account',
      max: 150,
    });
    const untilMidnight = 86_400 - (Math.floor(Date.now() / 1_000) % 86_400);
    const wait = Number(second.headers['retry-after']);
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(Math.abs(wait - untilMidnight)).toBeLessThan(30);
    expect([(await of('default')).status, (await of('default')).status]).toEqual([202, 202]);
    expect((await of('default')).json()).toMatchObject({ scope: 'tenant', max: 300 });
  }, 90_000);

  it('requests a minute of an account count its new generations only', async () => {
    const tenant = await newTenant(suite.db);
    await grant(suite.db, tenant.id, 'user-1', 1_000);
    await limit(tenant, { scope: 'each_account', requests_per_minute: 2 });
    await withinOneMinute();
    const of = (account: string) => create(suite.api.url, tenant, { body: { ...BODY, account } });
    const answers = [await of('user-1'), await of('user-1'), await of('user-1'), await of('default')];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 429, 202]);
    expect(answers[2]!.json()).toMatchObject({ code: 'rate_limited', scope: 'account', max: 2 });
    expect(answers[2]!.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(answers[2]!.headers['ratelimit']).toBeUndefined();
    expect((await get(suite.api.url, tenant, '/v1/accounts/user-1/credits')).status).toBe(200);
  }, 90_000);
});

describe('cancels a day', () => {
  it('of what a provider has begun; one that was not sent is free', async () => {
    const tenant = await newTenant(suite.db);
    await limit(tenant, { cancels_per_day: 1 });
    const make = async () => (await create(suite.api.url, tenant)).json()['id'] as string;
    const [one, two, queued] = [await make(), await make(), await make()];
    for (const id of [one, two]) {
      await sendToProvider(suite.db, id);
      await accept(suite.db, id);
    }
    await withinOneMinute();
    expect((await cancel(tenant, one)).status).toBe(202);
    expect((await cancel(tenant, one)).status).toBe(202);
    const refused = await cancel(tenant, two);
    expect(refused.json()).toMatchObject({
      status: 429,
      code: 'daily_cancels_reached',
      limit: 'cancels_per_day',
      scope: 'tenant',
      max: 1,
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await get(suite.api.url, tenant, `/v1/generations/${two}`)).json()['cancellation']).toBeNull();
    expect((await cancel(tenant, queued)).status).toBe(200);
  }, 90_000);
});
