import type { Db } from './client.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** Long enough for a report over a year; a wait for a row lock ends sooner. */
const LIMITS = { maxWait: 5_000, timeout: 60_000 };

/** The same pool seen from inside one transaction; nothing is tried again there, a conflict undoes all of it. */
function inside(tx: Prisma.TransactionClient): Db {
  return {
    prisma: tx as PrismaClient,
    query: (text, values) => tx.$queryRawUnsafe(text, ...values),
    async call(name, params, result, extra) {
      const args = extra === undefined ? '$1::jsonb' : '$1::jsonb, $2::bytea';
      const values: unknown[] = [JSON.stringify(params), ...(extra === undefined ? [] : [extra])];
      const rows = await tx.$queryRawUnsafe<{ result: unknown }[]>(
        `SELECT ${name}(${args}) AS result`,
        ...values,
      );
      return result.parse(rows[0]?.result ?? null);
    },
    close: async () => {},
  };
}

/** Several reads that agree with each other: all see one moment. */
export function inSnapshot<T>(db: Db, run: (db: Db) => Promise<T>): Promise<T> {
  return db.prisma.$transaction(
    async (tx) => {
      await tx.$executeRaw`SET TRANSACTION READ ONLY`;
      return run(inside(tx));
    },
    { ...LIMITS, isolationLevel: 'RepeatableRead' },
  );
}

/** A read and the write that depends on it, together or not at all. */
export function inTransaction<T>(db: Db, run: (db: Db) => Promise<T>): Promise<T> {
  return db.prisma.$transaction((tx) => run(inside(tx)), LIMITS);
}

/** What would happen: runs it and takes all of it back, whatever it returned. */
export async function asTrial<T>(db: Db, run: (db: Db) => Promise<T>): Promise<T> {
  const undo = new Error('undo');
  let found: { readonly value: T } | undefined;
  try {
    await db.prisma.$transaction(async (tx) => {
      found = { value: await run(inside(tx)) };
      throw undo;
    }, LIMITS);
  } catch (error) {
    if (error !== undo || found === undefined) throw error;
    return found.value;
  }
  throw new Error('a trial was not undone');
}
