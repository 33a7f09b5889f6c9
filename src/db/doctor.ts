import { readFile } from 'node:fs/promises';
import type { Db } from './client.ts';

const FILE = new URL('../../prisma/invariants.sql', import.meta.url);

export interface Invariant {
  readonly name: string;
  readonly sql: string;
}

export interface InvariantResult {
  readonly name: string;
  readonly violations: number;
  /** Up to ten keys of the rows that violate it. */
  readonly examples: readonly string[];
}

/** Splits prisma/invariants.sql: each statement follows a line `-- invariant: name` and returns one key a violation. */
export async function readInvariants(): Promise<Invariant[]> {
  const text = await readFile(FILE, 'utf8');
  return text
    .split(/^-- invariant: /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { name: part.slice(0, end).trim(), sql: part.slice(end).trim().replace(/;$/, '') };
    });
}

/** Checks every invariant in one statement, so in one snapshot of the database. */
export async function checkInvariants(db: Db): Promise<InvariantResult[]> {
  const invariants = await readInvariants();
  const union = invariants
    .map(({ sql }, i) => `SELECT ${i} AS number, v.key::text AS key FROM (${sql}) AS v(key)`)
    .join('\nUNION ALL\n');
  const rows = await db.prisma.$queryRawUnsafe<{ number: number; count: bigint; examples: string[] }[]>(
    `SELECT number, count(*) AS count, (array_agg(key ORDER BY key))[1:10] AS examples FROM (${union}) AS all_of_them GROUP BY number`,
  );
  return invariants.map(({ name }, i) => {
    const row = rows.find(({ number }) => number === i);
    return { name, violations: Number(row?.count ?? 0), examples: row?.examples ?? [] };
  });
}

/** Every stored output as the database knows it, for the comparison with the files; newest first, in pages. */
export function listStoredOutputs(
  db: Db,
  page: { readonly skip: number; readonly take: number },
): Promise<{ path: string | null; bytes: bigint | null; sha256: Uint8Array | null }[]> {
  return db.prisma.output.findMany({
    where: { state: 'stored' },
    select: { path: true, bytes: true, sha256: true },
    orderBy: [{ generationId: 'desc' }, { index: 'asc' }],
    ...page,
  });
}

/** Which of these paths no output has, in the order given. */
export async function findPathsWithoutOutput(db: Db, paths: readonly string[]): Promise<string[]> {
  const rows = await db.prisma.output.findMany({
    where: { path: { in: [...paths] } },
    select: { path: true },
  });
  const known = new Set(rows.map(({ path }) => path));
  return paths.filter((path) => !known.has(path));
}
