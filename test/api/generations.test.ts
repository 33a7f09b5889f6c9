import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { createWaiters, type Waiters } from '../../src/services/await-generation.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import { send, type Answer } from './client.ts';
import { create, get, grant, newTenant, rowsOf, type TestTenant } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 20, connectWithinMs: 60_000 });
  api = await startApi(db);
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

async function created(tenant: TestTenant): Promise<string> {
  const answer = await create(api.url, tenant);
  expect(answer.status).toBe(202);
  return answer.json()['id'] as string;
}

function cancel(tenant: TestTenant, id: string, method: 'POST' | 'DELETE' = 'POST'): Promise<Answer> {
  const path = method === 'POST' ? `/v1/generations/${id}/cancel` : `/v1/generations/${id}`;
  return send(api.url, { method, path, headers: { Authorization: `Bearer ${tenant.key}` } });
}

/** Waiters that tell when the first request waits. */
function watchedWaiters(limit: number): { waiters: Waiters; entered: Promise<void> } {
  const inner = createWaiters(limit);
  let enter: () => void = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const run: Waiters['run'] = (wait) =>
    inner.run(() => {
      enter();
      return wait();
    });
  return { waiters: { run }, entered };
}

/** As if the provider had taken the job: a cancel can't end it at once any more. */
async function accept(id: string): Promise<void> {
  const sub = `sub_${id.slice(4)}_1`;
  await db.prisma.$executeRaw`
    INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, state, idempotency_key, request, handle,
      provider_job_id, accepted_at, created_at, updated_at)
    VALUES (${sub}, ${id}, 1, 0, 'infro', 'default', 'accepted', ${sub}, '{}', ${`{"jobId":"${sub}"}`}::jsonb, ${sub}, now(), now(), now())`;
}

describe('API1 another tenant’s generation answers byte for byte like an unknown one', () => {
  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/cancel'],
  ])('%s …%s', async (method, suffix) => {
    const [owner, other] = await Promise.all([newTenant(db), newTenant(db)]);
    const id = await created(owner);
    const unknown = `${id.slice(0, -4)}0000`;
    const answers = [];
    for (const asked of [id, unknown, 'gen_short', '%00', 'x'.repeat(500)]) {
      for (const waiting of [{}, { Prefer: 'wait=1' }]) {
        const answer = await send(api.url, {
          method,
          path: `/v1/generations/${asked}${suffix}`,
          headers: { Authorization: `Bearer ${other.key}`, 'X-Request-Id': 'same', ...waiting },
        });
        answers.push(`${answer.status} ${answer.headers['content-type']} ${answer.text}`);
      }
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^404 application\/problem\+json .*"generation_not_found"/);
    expect((await get(api.url, owner, `/v1/generations/${id}`)).json()).toMatchObject({
      state: 'queued',
      cancellation: null,
    });
  });

  it('list and credits show the own tenant only', async () => {
    const [owner, other] = await Promise.all([newTenant(db), newTenant(db, { credits: 7 })]);
    await created(owner);
    await grant(db, owner.id, 'user-1', 50);
    expect((await get(api.url, other, '/v1/generations')).json()).toEqual({
      data: [],
      has_more: false,
      next_cursor: null,
    });
    const mine = await get(api.url, owner, '/v1/accounts/user-1/credits');
    expect(mine.json()).toEqual({
      object: 'credits',
      account: 'user-1',
      available: 50,
      held: 0,
      spent: 0,
      granted: 50,
    });
    expect((await get(api.url, other, '/v1/accounts/user-1/credits')).json()['code']).toBe(
      'account_not_found',
    );
    expect((await get(api.url, owner, '/v1/accounts/%00/credits')).json()['code']).toBe('account_not_found');
    expect((await get(api.url, owner, '/v1/credits')).json()).toMatchObject({
      available: 9_900,
      held: 100,
      spent: 0,
    });
  });
});

describe('GET /v1/generations/{id}', () => {
  it('answers 304 for its ETag, weak or in a list, and 200 once it changed', async () => {
    const tenant = await newTenant(db);
    const id = await created(tenant);
    const path = `/v1/generations/${id}`;
    const first = await get(api.url, tenant, path);
    const etag = first.headers.etag!;
    expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache', 'retry-after': '3' });
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const same = await get(api.url, tenant, path, { 'If-None-Match': known });
      expect([same.status, same.text, same.headers.etag]).toEqual([304, '', etag]);
    }
    await cancel(tenant, id);
    const changed = await get(api.url, tenant, path, { 'If-None-Match': etag });
    expect([changed.status, changed.json()['state']]).toEqual([200, 'cancelled']);
    expect(changed.headers['retry-after']).toBeUndefined();
  });

  it('T56 never writes', async () => {
    const tenant = await newTenant(db);
    const id = await created(tenant);
    const before = await db.prisma.generation.findUniqueOrThrow({ where: { id } });
    await get(api.url, tenant, `/v1/generations/${id}`, { Prefer: 'wait=1' });
    expect(await db.prisma.generation.findUniqueOrThrow({ where: { id } })).toEqual(before);
  });

  it('Prefer: wait holds until it changes', async () => {
    const tenant = await newTenant(db);
    const id = await created(tenant);
    const startedMs = performance.now();
    const waiting = get(api.url, tenant, `/v1/generations/${id}`, { Prefer: 'respond-async, wait=30' });
    await delay(300);
    await cancel(tenant, id);
    const answer = await waiting;
    expect([answer.json()['state'], answer.headers['preference-applied']]).toEqual(['cancelled', 'wait=30']);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    const ended = await get(api.url, tenant, `/v1/generations/${id}`, { Prefer: 'wait=60' });
    expect(ended.json()['state']).toBe('cancelled');
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });

  it('Prefer: wait answers at once when the ETag is of an older state, and 304 when the time is over', async () => {
    const tenant = await newTenant(db);
    const path = `/v1/generations/${await created(tenant)}`;
    const { etag } = (await get(api.url, tenant, path)).headers;
    const startedMs = performance.now();
    expect((await get(api.url, tenant, path, { Prefer: 'wait=20', 'If-None-Match': '"old"' })).status).toBe(
      200,
    );
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    const same = await get(api.url, tenant, path, { Prefer: 'wait=1', 'If-None-Match': etag! });
    expect([same.status, same.headers['preference-applied']]).toEqual([304, 'wait=1']);
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });

  it('Prefer: wait is bounded, and ends when the process is asked to stop', async () => {
    const tenant = await newTenant(db);
    const path = `/v1/generations/${await created(tenant)}`;
    const { waiters, entered } = watchedWaiters(1);
    const small = await startApi(db, { waiters });
    const held = get(small.url, tenant, path, { Prefer: 'wait=30' });
    await entered;
    const refused = await get(small.url, tenant, path, { Prefer: 'wait=30' });
    expect([refused.status, refused.headers['preference-applied']]).toEqual([200, undefined]);
    // Caught before it can fail, or it would count as unhandled.
    const cut = held.then(
      () => 'answered',
      (error: unknown) => String(error),
    );
    await small.close();
    expect(await cut).toMatch(/socket hang up|ECONNRESET|aborted/);

    const watched = watchedWaiters(1);
    const stopping = await startApi(db, { waiters: watched.waiters });
    const waiting = get(stopping.url, tenant, path, { Prefer: 'wait=30' });
    await watched.entered;
    stopping.drain();
    expect((await waiting).status).toBe(200);
    expect((await send(stopping.url, { path: '/readyz' })).json()['code']).toBe('not_ready');
    await stopping.close();
  });

  it.each(['wait=0', 'wait=-1', 'wait=abc', 'wait', 'handling=lenient', ''])(
    'ignores Prefer: %s',
    async (prefer) => {
      const tenant = await newTenant(db);
      const answer = await get(api.url, tenant, `/v1/generations/${await created(tenant)}`, {
        Prefer: prefer,
      });
      expect([answer.status, answer.headers['preference-applied']]).toEqual([200, undefined]);
    },
  );
});

describe('IDEM-11 cancel', () => {
  it.each(['POST', 'DELETE'] as const)(
    '%s before a provider has it: cancelled, released, then 409',
    async (method) => {
      const tenant = await newTenant(db);
      const id = await created(tenant);
      const first = await cancel(tenant, id, method);
      expect([first.status, first.json()]).toEqual([
        200,
        expect.objectContaining({
          state: 'cancelled',
          stage: 'done',
          credits: { held: 0, captured: 0, released: 100, refunded: 0 },
          cancellation: {
            requested_by: 'tenant',
            requested_at: expect.any(String) as string,
            outcome: 'confirmed',
          },
        }),
      ]);
      const again = await cancel(tenant, id, method);
      expect([again.status, again.json()['code']]).toEqual([409, 'already_terminal']);
      expect(await rowsOf(db, tenant.id)).toEqual({ generations: 1, holds: 0, held: 0 });
    },
  );

  it('after it: recorded and woken once, hold intact', async () => {
    const tenant = await newTenant(db);
    const id = await created(tenant);
    await accept(id);
    const answers = [await cancel(tenant, id), await cancel(tenant, id, 'DELETE')];
    for (const answer of answers) {
      expect([answer.status, answer.headers.location]).toEqual([202, `/v1/generations/${id}`]);
      expect(answer.json()).toMatchObject({
        cancellation: { requested_by: 'tenant', outcome: 'requested' },
        credits: { held: 100 },
      });
    }
    expect(answers[0]!.text).toBe(answers[1]!.text);
    expect(api.woken.filter(({ run }) => run.generationId === id).map(({ reason }) => reason)).toEqual([
      'created',
      'cancel',
    ]);
  });

  it('twenty at once: one ends it, the others see that it ended', async () => {
    const tenant = await newTenant(db);
    const id = await created(tenant);
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => cancel(tenant, id)))).map(
      ({ status }) => status,
    );
    expect([statuses.filter((s) => s === 200).length, statuses.filter((s) => s === 409).length]).toEqual([
      1, 19,
    ]);
    expect(await db.prisma.generationEvent.count({ where: { generationId: id, type: 'terminal' } })).toBe(1);
  });
});
