/** Pages of `GET /v1/videos` across very many deleted ones, more than one page looks at. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import { get, newTenant, type TestTenant } from './tenants.ts';
import { asReplica, cancel, createVideo, del, idOf, WISH } from './videos.ts';

/** More than the rows that end a page. */
const DELETED = 8_000;
const AT_ONCE = 1_000;

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
/** Those that stand, newest first: one, the deleted ones, two. */
const standing: string[] = [];

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
  const make = async (prompt: string) => {
    const id = idOf(await createVideo(api.url, tenant, { ...WISH, prompt }));
    await cancel(api.url, tenant, id);
    return id;
  };
  standing.unshift(await make('first'));
  standing.unshift(await make('second'));
  const deleted = await make('deleted');
  await del(api.url, tenant, deleted);
  for (let from = 1; from <= DELETED; from += AT_ONCE) await copy(deleted, from, from + AT_ONCE - 1);
  const last = await make('last');
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
