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

/** One snapshot may be kept open for so long. */
const CHECK_LIMIT_MS = 4 * 3_600_000;

/**
 * Checks every invariant, one after the other in one snapshot of the database. It reads all there is: over many rows a
 * statement may take longer than the limit of the given pool, see `statementLimitMs` of openDb.
 * @param onCheck told of each before it is checked, with its place from 1 and how many there are
 */
export async function checkInvariants(
  db: Db,
  onCheck: (name: string, place: number, of: number) => void = () => {},
): Promise<InvariantResult[]> {
  const invariants = await readInvariants();
  return db.prisma.$transaction(
    async (tx) => {
      // Sums over whole tables: they fit into this, and compiling takes longer than it saves.
      await tx.$executeRawUnsafe(
        `SELECT set_config('work_mem', '128MB', true), set_config('jit', 'off', true)`,
      );
      const results: InvariantResult[] = [];
      for (const [i, { name, sql }] of invariants.entries()) {
        onCheck(name, i + 1, invariants.length);
        const [row] = await tx.$queryRawUnsafe<{ count: bigint; examples: string[] | null }[]>(
          `SELECT count(*) AS count, (array_agg(key ORDER BY key))[1:10] AS examples FROM (SELECT v.key::text AS key FROM (${sql}) AS v(key)) AS found`,
        );
        results.push({ name, violations: Number(row?.count ?? 0), examples: row?.examples ?? [] });
      }
      return results;
    },
    { isolationLevel: 'RepeatableRead', maxWait: 30_000, timeout: CHECK_LIMIT_MS },
  );
}

/** A file as the database knows it. */
export interface StoredFile {
  /** Its place in the list: the next page begins after the last of this one. */
  readonly key: string;
  readonly path: string | null;
  readonly bytes: bigint | null;
  /** Hex. */
  readonly sha256: string | null;
}

/** Files that are stored, in pages by key: outputs, or what tenants gave. `after` null = from the start. */
export function listStoredFiles(
  db: Db,
  kind: 'output' | 'input',
  page: { readonly after: string | null; readonly take: number },
): Promise<StoredFile[]> {
  const after = page.after ?? '';
  if (kind === 'input') {
    return db.prisma.$queryRaw<StoredFile[]>`
      SELECT id AS key, path, bytes, encode(sha256, 'hex') AS sha256 FROM stored_input
      WHERE state = 'stored' AND id > ${after} ORDER BY id LIMIT ${page.take}`;
  }
  const [generationId = '', index = '-1'] = after.split(' ');
  return db.prisma.$queryRaw<StoredFile[]>`
    SELECT generation_id || ' ' || index AS key, path, bytes, encode(sha256, 'hex') AS sha256 FROM output
    WHERE state = 'stored' AND (generation_id, index) > (${generationId}, ${Number(index)})
    ORDER BY generation_id, index LIMIT ${page.take}`;
}

/** Whether the row still says that the file is there: it may have been deleted since the list was read. */
export async function isStillStored(db: Db, kind: 'output' | 'input', path: string): Promise<boolean> {
  const where = { path, state: 'stored' };
  return (
    (await (kind === 'output' ? db.prisma.output.count({ where }) : db.prisma.storedInput.count({ where }))) >
    0
  );
}

/** Which of these paths no output and no input has, in the order given; a row deleted over an hour ago has none any more. */
export async function findPathsWithoutRow(db: Db, paths: readonly string[]): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ path: string }[]>`
    SELECT path FROM output WHERE path = ANY (${[...paths]}) AND (deleted_at IS NULL OR deleted_at > now() - interval '1 hour')
    UNION ALL
    SELECT path FROM stored_input WHERE path = ANY (${[...paths]}) AND (deleted_at IS NULL OR deleted_at > now() - interval '1 hour')`;
  const known = new Set(rows.map(({ path }) => path));
  return paths.filter((path) => !known.has(path));
}
