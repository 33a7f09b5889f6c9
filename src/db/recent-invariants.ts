import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Db } from './client.ts';
import { readInvariants } from './doctor.ts';
import type { InvariantResult } from './doctor.ts';

const FILE = new URL('../../prisma/recent.sql', import.meta.url);
/** An account with so many entries and open holds is summed up by `darkroom doctor` only. */
const ACCOUNT_ROWS = 1_000;
/** Of one page: accounts that are summed up, those that were violated first, and rows of all of them. */
const ACCOUNTS = 100;
const ALL_ACCOUNT_ROWS = 5_000;
const STATEMENT_LIMIT_MS = 20_000;
/** Where no id has been yet. */
const BEFORE_ALL_IDS = '';

/** Where a page of changed generations begins or ends. */
export interface ChangePlace {
  /** ISO time; its milliseconds are all that is stored. */
  readonly at: string;
  readonly id: string;
}

export interface RecentCheck {
  readonly results: readonly InvariantResult[];
  /** Where the next page begins; null = nothing newer was there. */
  readonly next: ChangePlace | null;
}

/** By the name of the invariant: how many rows violate it, and up to ten of their keys. */
const keptSchema = z.record(z.string(), z.object({ violations: z.int(), examples: z.array(z.string()) }));

/** Reads what the last check found, as it stands in its mark; the names are those of prisma/invariants.sql. */
export function readKeptViolations(
  place: string | null,
): Readonly<Record<string, Omit<InvariantResult, 'name'>>> {
  return place === null ? {} : keptSchema.parse(JSON.parse(place));
}

/** The name of an invariant as a label of metrics: `no_account_is_below_zero`. */
export function invariantLabel(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
}

/** The clock of the database, and the same so many milliseconds before, as ISO times. */
export async function readClock(db: Db, beforeMs: number): Promise<{ now: string; before: string }> {
  const [row] = await db.prisma.$queryRaw<{ now: string; before: string }[]>`
    SELECT iso_time(clock_timestamp()) AS now, iso_time(clock_timestamp() - ${beforeMs}::float8 * interval '1 millisecond') AS before`;
  return row!;
}

/**
 * Checks the invariants of prisma/invariants.sql for the generations that changed after a place, with their accounts and
 * what was booked since, in one statement under a time limit.
 * @param watched keys that were violated before; they are looked at again though nothing changed there
 */
export async function checkRecentInvariants(
  db: Db,
  page: { readonly from: ChangePlace | string; readonly limit: number; readonly watched: readonly string[] },
): Promise<RecentCheck> {
  const [invariants, tables] = await Promise.all([readInvariants(), readFile(FILE, 'utf8')]);
  const { at, id } = typeof page.from === 'string' ? { at: page.from, id: BEFORE_ALL_IDS } : page.from;
  const union = invariants
    .map(({ sql }, i) => `SELECT ${i} AS number, v.key::text AS key FROM (${sql}) AS v(key)`)
    .join('\nUNION ALL\n');
  return db.prisma.$transaction(
    async (tx) => {
      await tx.$executeRawUnsafe(`SET LOCAL statement_timeout = ${STATEMENT_LIMIT_MS}`);
      // The planner can't know how few rows a page has: it must not read a whole table, nor compile for it.
      await tx.$executeRawUnsafe('SET LOCAL enable_seqscan = off');
      await tx.$executeRawUnsafe('SET LOCAL jit = off');
      // Read first: a row that moves on in between is met again on a later page.
      const ends = await tx.$queryRaw<{ at: string; id: string }[]>`
        SELECT iso_time(updated_at) AS at, id FROM generation WHERE updated_at >= ${at}::timestamptz AND (updated_at, id) > (${at}::timestamptz, ${id})
        ORDER BY updated_at, id OFFSET ${page.limit - 1} LIMIT 1`;
      const rows = await tx.$queryRawUnsafe<{ number: number; count: bigint; examples: string[] }[]>(
        `${tables} SELECT number, count(*) AS count, (array_agg(key ORDER BY key))[1:10] AS examples
         FROM (${union}) AS all_of_them GROUP BY number`,
        at,
        id,
        page.limit,
        [...page.watched],
        at,
        ACCOUNT_ROWS,
        ACCOUNTS,
        ALL_ACCOUNT_ROWS,
      );
      const results = invariants.map(({ name }, i) => {
        const row = rows.find(({ number }) => number === i);
        return { name, violations: Number(row?.count ?? 0), examples: row?.examples ?? [] };
      });
      return { results, next: ends[0] ?? null };
    },
    { maxWait: 5_000, timeout: 2 * STATEMENT_LIMIT_MS },
  );
}
