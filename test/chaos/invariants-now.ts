import { checkInvariants } from '../../src/db/doctor.ts';
import { openDb } from '../../src/db/index.ts';
import type { Violation } from './types.ts';

const CHECK = 'no invariant is violated under way';

/**
 * Every invariant of prisma/invariants.sql in one snapshot, while a run goes on: what holds at the end may be an empty set
 * by then. Up to ten rows of each are told; each call tells again what still stands.
 * @throws when the database is away, as a run may have it
 */
export async function violatedNow(databaseUrl: string): Promise<Violation[]> {
  const db = openDb(databaseUrl, { poolSize: 1 });
  try {
    return (await checkInvariants(db)).flatMap(({ name, examples }) =>
      examples.map((key) => ({
        check: CHECK,
        generation: /gen_[0-9a-z]+/.exec(key)?.[0] ?? null,
        problem: `${name}: ${key}`,
      })),
    );
  } finally {
    await db.close().catch(() => {});
  }
}
