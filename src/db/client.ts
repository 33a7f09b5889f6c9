import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { z } from 'zod';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../domain/json.ts';
import { isConflict } from './errors.ts';
import { PrismaClient } from './generated/client.ts';

/** A pool of connections: Prisma for plain reads, `call` for the SQL functions that own every fact. */
export interface Db {
  readonly prisma: PrismaClient;
  /**
   * Plain reads that every request makes, by the driver itself: a GET takes half the CPU that it takes with Prisma. Values
   * come as the driver reads them, a bigint as text (in a transaction as BigInt): cast it.
   * @throws the driver's error; see `isDatabaseUnavailable`.
   */
  query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Calls one SQL function of prisma/functions in one autocommit statement; a deadlock or serialization failure,
   * which has undone all of it, is tried again.
   * @throws the driver's error; see `isDatabaseUnavailable`.
   */
  call<T>(name: string, params: JsonObject, result: z.ZodType<T>, extra?: Uint8Array): Promise<T>;
  close(): Promise<void>;
}

/** Tries of one call that PostgreSQL chose as the victim of a deadlock or of a conflict. */
const CONFLICT_TRIES = 8;

/** Repeats what a conflict has undone, with growing pauses; any other error, or the last conflict, is thrown. */
async function throughConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await run();
    } catch (error) {
      if (tried >= CONFLICT_TRIES || !isConflict(error)) throw error;
      await sleep(Math.random() * 10 * 2 ** tried);
    }
  }
}

/** What a statement may take, unless the pool is opened for longer ones. */
const STATEMENT_LIMIT_MS = 30_000;

/**
 * Opens a pool on PostgreSQL 15 or newer. Every session runs in UTC, since the adapter drops the offset of a
 * timestamptz. Connections are made on first use.
 */
export function openDb(
  databaseUrl: string,
  options: {
    readonly poolSize: number;
    readonly statementLimitMs?: number | undefined;
    /** For a new session, and for one of the pool that others use: what waits longer has an error. */
    readonly connectWithinMs?: number | undefined;
  },
): Db {
  const { poolSize, statementLimitMs = STATEMENT_LIMIT_MS, connectWithinMs = 5_000 } = options;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    connectionTimeoutMillis: connectWithinMs,
    // A new session costs more than a generation: its login, and a plan of every statement in the functions it calls.
    idleTimeoutMillis: 600_000,
    statement_timeout: statementLimitMs,
    // A network that swallows packets answers nothing: then this ends the wait.
    query_timeout: statementLimitMs + 5_000,
    keepAlive: true,
    options: '-c TimeZone=UTC',
    application_name: 'darkroom',
  });
  // An idle session that the server ends is out of the pool by then; without a listener it would end the process.
  pool.on('error', () => {});
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const query = async <Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(text, [...values])).rows;
  let closed: Promise<void> | undefined;
  return {
    prisma,
    query,
    async call(name, params, result, extra) {
      const args = extra === undefined ? '$1::jsonb' : '$1::jsonb, $2::bytea';
      const values: unknown[] = [JSON.stringify(params), ...(extra === undefined ? [] : [extra])];
      const rows = await throughConflicts(() =>
        query<{ result: unknown }>(`SELECT ${name}(${args}) AS result`, values),
      );
      return result.parse(rows[0]?.result ?? null);
    },
    close: () => (closed ??= prisma.$disconnect().then(() => pool.end())),
  };
}

/** Refuses to start on a server whose sessions are not in UTC or that is too old, with what to do. */
export async function assertDatabaseUsable(db: Db): Promise<void> {
  const [row] = await db.prisma.$queryRawUnsafe<{ zone: string; version: number; migrated: boolean }[]>(
    `SELECT current_setting('TimeZone') AS zone, current_setting('server_version_num')::int AS version,
       to_regprocedure('refund_generation(jsonb)') IS NOT NULL AS migrated`,
  );
  if (row === undefined || row.zone !== 'UTC') {
    throw new Error(
      'The database session is not in UTC: let DATABASE_URL pass "options=-c TimeZone=UTC" through the pooler.',
    );
  }
  if (row.version < 150_000) throw new Error('PostgreSQL 15 or newer is needed.');
  if (!row.migrated) throw new Error('The database is not migrated: run "npx darkroom migrate".');
}
