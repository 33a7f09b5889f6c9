import { afterEach, describe, expect, it } from 'vitest';
import { openDb } from '../../src/db/index.ts';
import { createGenerationChanges } from '../../src/services/generation-changes.ts';
import { finish } from '../db/finish.ts';
import { createTestDatabase } from '../support/stack.ts';
import { openTunnel } from '../support/tunnel.ts';
import { NO_HINTS, startApi, type TestApi } from './api.ts';
import { send } from './client.ts';
import type { Followed } from './event-client.ts';
import { ask, begin, open, shown, type Asked } from './following.ts';
import { useApi } from './suite.ts';
import { create, get, newTenant } from './tenants.ts';

const suite = useApi();

const extra: TestApi[] = [];
afterEach(async () => {
  await Promise.all(extra.splice(0).map((api) => api.close()));
});

describe('SSE-3 who may follow is as for GET', () => {
  it('API1 no key, a false one, another tenant’s, unknown and malformed ids answer the same bytes', async () => {
    const { tenant, id } = await ask(suite);
    const [other, scopeless] = [
      await newTenant(suite.db),
      await newTenant(suite.db, { scopes: ['credits:grant'] }),
    ];
    const keys = [undefined, 'Bearer dk_short', `Bearer ${other.key}`, `Bearer ${scopeless.key}`];
    for (const Authorization of keys) {
      for (const named of [id, `${id.slice(0, -4)}0000`, 'gen_short', '%00', 'x'.repeat(500)]) {
        const headers = {
          'X-Request-Id': 'same',
          ...(Authorization === undefined ? {} : { Authorization }),
        };
        const [plain, stream] = await Promise.all([
          send(suite.api.url, { path: `/v1/generations/${named}`, headers }),
          send(suite.api.url, { path: `/v1/generations/${named}/events`, headers }),
        ]);
        const facts = ({ status, text, headers: { 'content-type': type } }: typeof plain) => [
          status,
          type,
          text,
        ];
        expect(facts(stream)).toEqual(facts(plain));
        expect(stream.status).toBeGreaterThanOrEqual(401);
      }
    }
    const mine = await open(suite.api.url, { tenant, path: `/v1/generations/${id}/events` });
    expect(mine.status).toBe(200);
    mine.leave();
  });
});

describe('a stream and the process', () => {
  /** An API of its own with few places. */
  async function small(maxFollowersPerTenant: number, lookEveryMs = 100): Promise<TestApi> {
    const changes = createGenerationChanges(
      { db: suite.db, feed: NO_HINTS, onProblem: () => {} },
      { maxFollowersPerTenant, lookEveryMs },
    );
    const api = await startApi(suite.db, { changes });
    extra.push({ ...api, close: () => api.close().then(() => changes.close()) });
    return api;
  }

  it('API4 too many at once: 503 with Retry-After; who leaves, or only asked for the head, makes room', async () => {
    const asking = await ask(suite);
    const { url } = await small(1);
    const head = await send(url, {
      method: 'HEAD',
      path: asking.path,
      headers: { Authorization: `Bearer ${asking.tenant.key}` },
    });
    expect([head.status, head.headers['content-type']]).toEqual([200, 'text/event-stream']);
    const first = await eventuallyOpen(asking, url);
    const refused = await get(url, asking.tenant, asking.path);
    expect([refused.status, refused.json()['code'], refused.headers['retry-after']]).toEqual([
      503,
      'busy',
      '5',
    ]);
    expect((await get(url, asking.tenant, `${asking.path}?last_event_id=9`)).status).toBe(503);
    first.leave();
    const second = await eventuallyOpen(asking, url);
    await finish(suite.db, asking.id);
    expect(await second.over).toBe('end');
    expect((await eventuallyOpen(asking, url)).status).toBe(200);
  });

  /** The server hears of a client that left a moment later. */
  async function eventuallyOpen(asking: Asked, url: string) {
    let stream: Followed | undefined;
    await expect.poll(async () => (stream = await open(url, asking)).status, { timeout: 30_000 }).toBe(200);
    return stream!;
  }

  it('T32 closing the stream cancels nothing', async () => {
    const asking = await ask(suite);
    await begin(suite.db, asking.id);
    const stream = await open(suite.api.url, asking);
    await stream.until((frames) => frames.length === 5);
    stream.leave();
    await expect
      .poll(() => suite.api.logs.join(''))
      .toContain('"route":"/v1/generations/{id}/events","status":499');
    const now = (await get(suite.api.url, asking.tenant, `/v1/generations/${asking.id}`)).json();
    expect([now['state'], now['cancellation']]).toEqual(['running', null]);
    expect(suite.api.woken.filter(({ run }) => run.generationId === asking.id)).toHaveLength(1);
  });

  it('ends when the process is asked to stop, as does one that comes then', async () => {
    const asking = await ask(suite);
    const api = await small(10, 600_000);
    const stream = await open(api.url, asking);
    await stream.until((frames) => frames.length === 2);
    api.drain();
    expect(await stream.over).toBe('end');
    expect(shown(stream.events())).toEqual(['1 created']);
    const late = await open(api.url, asking);
    expect([late.status, await late.over, late.frames]).toEqual([200, 'end', [{ retry: '2000' }]]);
  });

  it('I3 the database goes away in the middle: the stream is cut, the process goes on', async () => {
    const database = await createTestDatabase();
    const tunnel = await openTunnel(database.url);
    const [near, far] = [openDb(database.url, { poolSize: 2 }), openDb(tunnel.url, { poolSize: 2 })];
    const tell: ((payload: string | null) => void)[] = [];
    const feed = {
      subscribe: (_: string, listener: (payload: string | null) => void) => {
        tell.push(listener);
        return () => {};
      },
    };
    const changes = createGenerationChanges({ db: far, feed, onProblem: () => {} }, { lookEveryMs: 600_000 });
    const api = await startApi(far, { changes });
    try {
      const tenant = await newTenant(near);
      const id = (await create(api.url, tenant)).json()['id'] as string;
      const path = `/v1/generations/${id}/events`;
      const stream = await open(api.url, { tenant, path });
      await stream.until((frames) => frames.length === 2);
      tunnel.close();
      for (const listener of tell) listener(id);
      expect(await stream.over).toBe('cut');
      expect((await send(api.url, { path: '/healthz' })).status).toBe(200);
      const again = await get(api.url, tenant, path);
      expect([again.status, again.json()['code']]).toEqual([503, 'database_unavailable']);
      expect(api.logs.join('')).toContain('"problem":"database_unavailable"');
      expect(api.logs.join('')).not.toContain(tenant.key);
    } finally {
      await api.close();
      await changes.close();
      await Promise.all([near.close(), far.close()]);
      await database.drop();
    }
  });
});
