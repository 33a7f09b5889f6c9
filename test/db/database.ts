import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { checkInvariants, openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { createTestDatabase } from '../support/stack.ts';

/** A migrated database of one test file; the invariants are checked after each of its tests. */
export interface TestDb {
  readonly db: Db;
  readonly url: string;
  /** A raw connection of its own, closed at the end of the file. */
  connect(): Promise<pg.Client>;
  /** One raw statement on a shared connection. */
  sql<T extends object>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

/** The names of the invariants that are violated now, with how many rows. */
export async function violations(db: Db): Promise<Record<string, number>> {
  const found = (await checkInvariants(db)).filter(({ violations: count }) => count > 0);
  return Object.fromEntries(found.map(({ name, violations: count }) => [name, count]));
}

export function useDatabase(options: { readonly poolSize?: number } = {}): TestDb {
  let opened: { db: Db; url: string; pool: pg.Pool; clients: pg.Client[]; drop(): Promise<void> } | undefined;
  const need = () => {
    if (opened === undefined) throw new Error('The database is open only while tests run.');
    return opened;
  };
  beforeAll(async () => {
    const database = await createTestDatabase();
    const { url } = database;
    const session = { connectionString: url, options: '-c TimeZone=UTC' };
    const pool = new pg.Pool({ ...session, max: 2 });
    // The database is dropped by force, which may be faster than the end of a session.
    pool.on('error', () => {});
    opened = {
      // Hundreds of calls at once queue for the pool, which counts as connecting.
      db: openDb(url, { poolSize: options.poolSize ?? 8, connectWithinMs: 60_000 }),
      url,
      pool,
      clients: [],
      drop: () => database.drop(),
    };
  });
  afterEach(async () => {
    const violated = await violations(need().db);
    expect(violated, Object.keys(violated).join('; ')).toEqual({});
  });
  afterAll(async () => {
    if (opened === undefined) return;
    await Promise.all([
      opened.db.close(),
      opened.pool.end(),
      ...opened.clients.map((client) => client.end()),
    ]);
    await opened.drop();
  });
  return {
    get db() {
      return need().db;
    },
    get url() {
      return need().url;
    },
    async connect() {
      const client = new pg.Client({ connectionString: need().url, options: '-c TimeZone=UTC' });
      client.on('error', () => {});
      await client.connect();
      need().clients.push(client);
      return client;
    },
    async sql<T extends object>(text: string, values: readonly unknown[] = []) {
      return (await need().pool.query<T>(text, [...values])).rows;
    },
  };
}

/** Calls one SQL function on a raw connection, as it is called in production: one jsonb in, one out. */
export async function callRaw(client: pg.Client, name: string, params: JsonObject): Promise<JsonObject> {
  const { rows } = await client.query<{ result: JsonObject }>(`SELECT ${name}($1::jsonb) AS result`, [
    JSON.stringify(params),
  ]);
  return rows[0]!.result;
}

/** How many of each: `{created: 1, replayed: 49}`. */
export function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
