import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findGenerations } from '../../src/db/find-generations.ts';
import { listGenerations, openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { seedRows } from '../bench/seed-rows.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';

let database: TestDatabase;
let client: pg.Client;
let db: Db;
let tenantId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url, options: '-c TimeZone=UTC' });
  await client.connect();
  const { tenants } = await seedRows(client, { from: 0, to: 2_000, base: new Date() });
  tenantId = tenants[1]!;
  db = openDb(database.url, { poolSize: 2 });
});
afterAll(async () => {
  await db.close();
  await client.end();
  await database.drop();
});

/** Ids of the newest by a plain query. */
async function newest(where: string, limit: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT g.id FROM generation g JOIN ledger_account a ON a.id = g.account_id WHERE g.tenant_id = $1 AND ${where}
     ORDER BY g.created_at DESC, g.id DESC LIMIT $2`,
    [tenantId, limit],
  );
  return rows.map(({ id }) => id);
}

it.each([
  [{ state: 'failed' }, `g.state = 'failed'`],
  [{ state: 'running' }, `g.state = 'running'`],
  [{ model: 'infro-image' }, `g.model = 'infro-image'`],
  [{ model: 'infro-image', state: 'cancelled' }, `g.model = 'infro-image' AND g.state = 'cancelled'`],
  [{ account: 'user-3' }, `a.name = 'user-3'`],
  [{ account: 'user-3', state: 'succeeded' }, `a.name = 'user-3' AND g.state = 'succeeded'`],
  [{ account: 'user-3', model: 'infro-video' }, `a.name = 'user-3' AND g.model = 'infro-video'`],
  [{}, 'true'],
])('pages of a list by %j follow each other without gap', async (filter, where) => {
  const ids: string[] = [];
  for (let after: { createdAt: Date; id: string } | undefined; ids.length < 40;) {
    const rows = await listGenerations(db, { tenantId, ...filter, limit: 9, after });
    ids.push(...rows.map(({ id }) => id));
    after = rows.at(-1);
    if (rows.length < 9) break;
  }
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.slice(0, 40)).toEqual(await newest(where, 40));
});

it('a search of one tenant goes on where its bound ended it', async () => {
  const ids: string[] = [];
  const search = { states: ['failed'], stages: [], tenantId, limit: 3, scanLimit: 20 };
  for (let after: { createdAt: Date; id: string } | undefined; ;) {
    const { rows, stoppedAt } = await findGenerations(db, { ...search, after });
    ids.push(...rows.map(({ id }) => id));
    const next = rows.length === search.limit ? rows.at(-1) : stoppedAt;
    if (next === null || next === undefined) break;
    after = { createdAt: next.createdAt, id: next.id };
  }
  expect(ids).toEqual(await newest(`g.state = 'failed'`, 1_000));
});
