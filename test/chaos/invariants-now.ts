import type pg from 'pg';
import { readInvariants } from '../../src/db/doctor.ts';
import type { Violation } from './types.ts';

const CHECK = 'no invariant is violated under way';

/**
 * Every invariant of prisma/invariants.sql in one snapshot, while a run goes on: what holds at the end may be an empty set
 * by then. Up to ten rows of each are told; each call tells again what still stands.
 * @throws when the database is away, as a run may have it
 */
export async function violatedNow(sql: Pick<pg.Pool, 'connect'>): Promise<Violation[]> {
  const client = await sql.connect();
  // The server may crash under it.
  const drop = () => {};
  client.on('error', drop);
  let isWhole = false;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const found: Violation[] = [];
    for (const { name, sql: query } of await readInvariants()) {
      const { rows } = await client.query<{ key: string }>(
        `SELECT v.key::text AS key FROM (${query}) AS v(key) ORDER BY 1 LIMIT 10`,
      );
      for (const { key } of rows) {
        const generation = /gen_[0-9a-z]+/.exec(key)?.[0] ?? null;
        found.push({ check: CHECK, generation, problem: `${name}: ${key}` });
      }
    }
    await client.query('ROLLBACK');
    isWhole = true;
    return found;
  } finally {
    client.off('error', drop);
    client.release(!isWhole);
  }
}
