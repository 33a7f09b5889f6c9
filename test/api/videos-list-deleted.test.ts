/** Pages of `GET /v1/videos` across very many deleted ones, more than one page looks at, and more than one answer does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import { get, newTenant, type TestTenant } from './tenants.ts';
import { asReplica, cancel, createVideo, del, idOf, WISH } from './videos.ts';

/** More than the rows that end a page. */
const DELETED = 8_000;
const AT_ONCE = 1_000;
/** More than the rows that end a page without any. */
const DELETED_IN_VAIN = 53_000;

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
/** Those that stand, newest first: one, the deleted ones, two. */
const standing: string[] = [];

async function cancelled(of: TestTenant, prompt: string): Promise<string> {
  const id = idOf(await createVideo(api.url, of, { ...WISH, prompt }));
  await cancel(api.url, of, id);
  return id;
}

/** A row again and again, each a millisecond after the one before; what hangs on a row is not needed to list it. */
async function copy(id: string, from: number, to: number): Promise<void> {
  const anew = new Map([
    ['id', `'gen_' || lpad(i::text, 26, '0')`],
    ['idempotency_key', `'copy-' || i`],
    ['created_at', `created_at + i * interval '1 millisecond'`],
  ]);
  const columns = await db.prisma.$queryRaw<{ name: string }[]>`
    SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'generation'`;
  const names = columns.map(({ name }) => name);
  await asReplica(
    db,
    `INSERT INTO generation (${names.join(', ')}) SELECT ${names.map((name) => anew.get(name) ?? name).join(', ')}
     FROM generation, generate_series(${from}, ${to}) AS i WHERE id = $1`,
    id,
  );
}

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 5, connectWithinMs: 60_000 });
  api = await startApi(db);
  tenant = await newTenant(db);
  standing.unshift(await cancelled(tenant, 'first'));
  standing.unshift(await cancelled(tenant, 'second'));
  const deleted = await cancelled(tenant, 'deleted');
  await del(api.url, tenant, deleted);
  for (let from = 1; from <= DELETED; from += AT_ONCE) await copy(deleted, from, from + AT_ONCE - 1);
  const last = await cancelled(tenant, 'last');
  await asReplica(
    db,
    `UPDATE generation SET created_at = created_at + interval '1 hour' WHERE id = $1`,
    last,
  );
  standing.unshift(last);
});
afterAll(async () => {
  await api?.close();
  await db?.close();
  await database?.drop();
});

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** Page by page, as official clients go on: from the last video of a page, never from an empty one. */
async function pages(query: string): Promise<string[][]> {
  const seen: string[][] = [];
  for (let after = ''; ;) {
    const answer = await get(api.url, tenant, `/v1/videos?${query}${after}`);
    const { data, last_id, has_more } = answer.json() as unknown as Page;
    seen.push(data.map(({ id }) => id));
    const last = data.at(-1);
    expect(last_id).toBe(last?.id ?? null);
    if (!has_more || last === undefined) return seen;
    after = `&after=${last.id}`;
  }
}

describe(`a list with ${DELETED} deleted ones in a row`, () => {
  it.each([1, 2, 3, 100])('has all the others by pages of %i, in both orders', async (limit) => {
    expect((await pages(`limit=${limit}`)).flat()).toEqual(standing);
    expect((await pages(`limit=${limit}&order=asc`)).flat()).toEqual([...standing].reverse());
  });

  it('ends a page early rather than looking at all of them for it', async () => {
    expect(await pages('limit=3')).toEqual([[standing[0]], standing.slice(1)]);
  });
});

describe(`a list with ${DELETED_IN_VAIN} deleted ones in a row`, () => {
  let other: TestTenant;
  let first: string;
  beforeAll(async () => {
    other = await newTenant(db);
    first = await cancelled(other, 'first');
    const deleted = await cancelled(other, 'deleted');
    await del(api.url, other, deleted);
    // Behind those of the other tenant, whose ids are made of the same numbers.
    const end = DELETED + DELETED_IN_VAIN;
    for (let from = DELETED + 1; from <= end; from += AT_ONCE) await copy(deleted, from, from + AT_ONCE - 1);
  });
  const page = async (query: string) => {
    const { first_id, last_id, ...answer } = (await get(api.url, other, `/v1/videos?${query}`)).json();
    const { data, has_more } = answer as unknown as Page;
    return { ids: data.map(({ id }) => id), first_id, last_id: last_id as string | null, has_more };
  };

  it('has an empty page, behind whose last place it goes on', async () => {
    const none = await page('limit=3');
    expect(none).toMatchObject({ ids: [], first_id: null, has_more: true });
    const end = { ids: [first], first_id: first, last_id: first, has_more: false };
    expect(await page(`limit=3&after=${none.last_id}`)).toEqual(end);
    expect(await page('limit=3&order=asc')).toEqual({ ...end, has_more: true });
    const behind = await page(`limit=3&order=asc&after=${first}`);
    expect(behind).toMatchObject({ ids: [], first_id: null, has_more: true });
    const nothing = { ids: [], first_id: null, last_id: null, has_more: false };
    expect(await page(`limit=3&order=asc&after=${behind.last_id}`)).toEqual(nothing);
  });
});
