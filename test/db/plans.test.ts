import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { seedRows, WAITING } from '../bench/seed-rows.ts';
import { findPlace, PROBES, runProbe, type Place } from '../bench/table-probes.ts';
import { runWay } from '../bench/tables.ts';
import { VIDEO_PROBES } from '../bench/video-probes.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { violations } from './database.ts';

const FINISHED = 50_000;
/** Of small tables and of what a page is made of; a fiftieth of what there is. */
const FEW = 1_000;
/** What is open is read row by row, or a bound of the operation itself. */
const OPEN = 2 * WAITING;
const MOST: Readonly<Record<string, number>> = {
  'list: running': OPEN,
  'list: queued': OPEN,
  'list: of a model': OPEN,
  'videos: first page': OPEN,
  'videos: deep page': OPEN,
  'videos: oldest': OPEN,
  'videos: oldest, deep': OPEN,
  'find: needs operator': OPEN,
  'find: overdue': OPEN,
  // The bound of one call is 20,000 rows, whatever is looked for.
  'find: expired': 22_000,
  'find: of a tenant and model': 22_000,
  'sweep: due': 2 * OPEN,
  'sweep: inbox': OPEN,
  'sweep: runs': OPEN,
  'waiting jobs': OPEN,
  // 300 that are due, a hundred generations with all that is theirs.
  deliver: 2_000,
  'housekeeping: history': 4_000,
  'gauges: generations': OPEN,
  'gauges: providers': OPEN,
};
/** As many as a page of 500 changed generations needs with the accounts that are summed up. */
const RECENT = 150_000;
/** Large by what they cover, a day or twenty minutes, and the same in a database of any size. */
const BY_TIME = new Set(['gauges: spent', 'report']);

let database: TestDatabase;
let client: pg.Client;
let db: Db;
let place: Place;

/** Rows that were read, by whatever plan: of tables and through indexes. */
async function rowsRead(): Promise<Map<string, number>> {
  // The counts of a session are told to others a second late, unless it is asked.
  await db.prisma.$queryRawUnsafe(`SELECT pg_stat_force_next_flush()::text`);
  const { rows } = await client.query<{ name: string; read: number }>(
    `SELECT relname AS name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables`,
  );
  return new Map(rows.map(({ name, read }) => [name, read]));
}

/** Rows of all tables that the run has read. */
async function countRows(run: () => Promise<unknown>): Promise<number> {
  const before = await rowsRead();
  await run();
  const after = await rowsRead();
  return [...after].reduce((sum, [name, read]) => sum + read - (before.get(name) ?? 0), 0);
}

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url, options: '-c TimeZone=UTC' });
  await client.connect();
  const base = new Date();
  const seeded = await seedRows(client, { from: 0, to: FINISHED, base });
  // One session: what it has read is known when it says so.
  db = openDb(database.url, { poolSize: 1 });
  place = await findPlace(db, seeded, base, FINISHED);
});
afterAll(async () => {
  await db.close();
  await client.end();
  await database.drop();
});

describe(`among ${FINISHED} finished generations`, () => {
  it('the invariants hold', async () => {
    expect(await violations(db)).toEqual({});
  });

  it.each([...PROBES, ...VIDEO_PROBES].filter(({ name }) => !BY_TIME.has(name)))(
    '$name reads what it is about',
    async (probe) => {
      const read = await countRows(() => runProbe(db, probe, place, async (_db, run) => void (await run())));
      expect(read).toBeLessThanOrEqual(
        probe.column === 'recent_doctor' ? RECENT : (MOST[probe.name] ?? FEW) + (probe.trial ? FEW * 3 : 0),
      );
    },
  );

  it('the way of one generation reads its own rows', async () => {
    const ways = 10;
    await runWay(db, place, async (_part, run) => void (await run()));
    const read = await countRows(async () => {
      for (let i = 0; i < ways; i += 1) await runWay(db, place, async (_part, run) => void (await run()));
    });
    // Small tables (tenants, accounts, endpoints) are read whole.
    expect(read / ways).toBeLessThan(2_000);
  });

  it('a budget and a limit of the day read what is of today', async () => {
    // All but the ways above become of other days.
    await client.query(`SET session_replication_role = replica`);
    await client.query(`UPDATE submission SET first_sent_at = first_sent_at - interval '3 days'`);
    await client.query(`UPDATE generation SET created_at = created_at - interval '3 days'`);
    await client.query(`RESET session_replication_role`);
    await client.query(`VACUUM ANALYZE`);
    await client.query(
      `INSERT INTO provider_budget (provider, amount_per_day, unit) VALUES ('infro', 1000000, 'USD')`,
    );
    await client.query(
      `INSERT INTO usage_limit (tenant_id, scope, credits_per_day) VALUES ($1, 'tenant', 100000000)`,
      [place.tenants[0]],
    );
    await runWay(db, place, async (_part, run) => void (await run()));
    const read = await countRows(() => runWay(db, place, async (_part, run) => void (await run())));
    expect(read).toBeLessThan(2_000);
  });
});
