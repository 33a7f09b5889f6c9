import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { encodeCursor } from '../../src/domain/http/cursor.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import { BODY, create, get, grant, newTenant, type TestTenant } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
let ids: string[];

interface Page {
  data: { id: string; account: string; state: string; model: string; created_at: string }[];
  has_more: boolean;
  next_cursor: string | null;
}

async function page(query: string): Promise<Page> {
  const answer = await get(api.url, tenant, `/v1/generations${query}`);
  expect(answer.status).toBe(200);
  return answer.json() as unknown as Page;
}

/** Rows refuse such a change; without the triggers, equal times can be made on purpose. */
async function setCreatedAt(id: string, createdAt: Date): Promise<void> {
  await db.prisma.$transaction([
    db.prisma.$executeRaw`SET LOCAL session_replication_role = replica`,
    db.prisma.generation.update({ where: { id }, data: { createdAt } }),
  ]);
}

/** Newest first: twelve rows of which every three share one millisecond. */
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 10, connectWithinMs: 60_000 });
  api = await startApi(db);
  tenant = await newTenant(db);
  await grant(db, tenant.id, 'user-1', 1_000);
  ids = [];
  for (let i = 0; i < 12; i++) {
    const body = {
      ...BODY,
      model: i % 2 === 0 ? 'infro-video' : 'infro-video-polled',
      account: i < 4 ? 'user-1' : 'default',
    };
    const { id } = (await create(api.url, tenant, { body })).json() as { id: string };
    const createdAt = new Date(Date.UTC(2026, 10, 29, 12, 0, Math.floor(i / 3)));
    await setCreatedAt(id, createdAt);
    ids.push(id);
  }
  ids.reverse();
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

describe('GET /v1/generations', () => {
  it.each([1, 2, 5, 12, 100])(
    'pages of %d give every row once, newest first, also for equal times',
    async (limit) => {
      const seen: string[] = [];
      let query = `?limit=${limit}`;
      for (;;) {
        const { data, has_more: hasMore, next_cursor: cursor } = await page(query);
        seen.push(...data.map(({ id }) => id));
        expect(hasMore).toBe(cursor !== null);
        expect(data.length).toBe(hasMore ? limit : data.length);
        if (cursor === null) break;
        query = `?limit=${limit}&after=${cursor}`;
      }
      expect(seen).toEqual(ids);
    },
  );

  it('a page stays what it was while newer ones come in', async () => {
    const first = await page('?limit=5');
    const before = await page(`?limit=5&after=${first.next_cursor}`);
    const late = (await create(api.url, tenant)).json()['id'] as string;
    expect(await page(`?limit=5&after=${first.next_cursor}`)).toEqual(before);
    await setCreatedAt(late, new Date('2020-01-01'));
    expect((await page('?limit=100')).data.map(({ id }) => id)).toEqual([...ids, late]);
  });

  it('filters by account, state, model and time, together with pages', async () => {
    expect((await page('?account=user-1')).data).toHaveLength(4);
    expect((await page('?account=nobody')).data).toEqual([]);
    expect((await page('?state=succeeded')).data).toEqual([]);
    const polled = await page('?model=infro-video-polled&account=user-1&state=queued&limit=1');
    expect(polled.data.map(({ model, account }) => [model, account])).toEqual([
      ['infro-video-polled', 'user-1'],
    ]);
    expect(polled.has_more).toBe(true);
    const after = await page('?created_after=2026-11-29T12:00:02Z');
    expect(after.data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(await page('?created_after=2026-11-29T21:00:02%2B09:00')).toEqual(after);
  });

  it('the default page has 20 at most', async () => {
    expect((await page('')).data.length).toBeLessThanOrEqual(20);
  });

  it.each([
    ['?limit=0', 'invalid_query', '/limit'],
    ['?limit=101', 'invalid_query', '/limit'],
    ['?limit=1e1', 'invalid_query', '/limit'],
    ['?limit=', 'invalid_query', '/limit'],
    ['?limit=1&limit=2', 'invalid_query', '/limit'],
    ['?state=done', 'invalid_query', '/state'],
    ['?account=', 'invalid_query', '/account'],
    ['?model=%00', 'invalid_query', '/model'],
    ['?created_after=yesterday', 'invalid_query', '/created_after'],
    ['?created_after=2026-11-29', 'invalid_query', '/created_after'],
    ['?created_after=0000-01-01T00:00:00Z', 'invalid_query', '/created_after'],
    ['?created_after=9999-12-31T23:59:59-05:00', 'invalid_query', '/created_after'],
    ['?page=2', 'invalid_query', '/page'],
    ['?__proto__=1', 'invalid_query', '/__proto__'],
    [`?after=${'x'.repeat(300)}`, 'invalid_query', '/after'],
    ['?after=', 'invalid_cursor', undefined],
    ['?after=abc', 'invalid_cursor', undefined],
    [
      `?after=${encodeCursor({ createdAt: new Date(0), id: `gen_${'0'.repeat(26)}` })}=`,
      'invalid_cursor',
      undefined,
    ],
    [
      `?after=${Buffer.from('2026-11-29T12:00:00.000Z,gen_x').toString('base64url')}`,
      'invalid_cursor',
      undefined,
    ],
    [
      `?after=${Buffer.from("0000-01-01T00:00:00.000Z,' OR 1=1").toString('base64url')}`,
      'invalid_cursor',
      undefined,
    ],
  ])('%s is refused', async (query, code, path) => {
    const answer = await get(api.url, tenant, `/v1/generations${query}`);
    const problem = answer.json() as { code: string; errors?: { path: string }[] };
    expect([answer.status, problem.code, problem.errors?.[0]?.path]).toEqual([400, code, path]);
  });
});
