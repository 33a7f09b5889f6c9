import { checkInvariants, findPathsWithoutOutput, listStoredOutputs } from '../db/index.ts';
import type { Db, InvariantResult } from '../db/index.ts';
import type { Storage } from '../storage/index.ts';

const PAGE = 500;
const FILES_INVARIANT = 'every stored output has its file with the same sha256';

const ROWS_INVARIANT = 'every old file has its row';
/** No attempt at storing lives this long: a file without a row is not on its way. */
const OLD_MS = 25 * 3_600_000;

/** All invariants of prisma/invariants.sql in one snapshot, then stored outputs against files, both ways. */
export async function runDoctor(ctx: {
  readonly db: Db;
  readonly storage: Storage;
}): Promise<InvariantResult[]> {
  return [
    ...(await checkInvariants(ctx.db)),
    await checkFiles(ctx.db, ctx.storage),
    await checkRows(ctx.db, ctx.storage),
  ];
}

async function checkRows(db: Db, storage: Storage): Promise<InvariantResult> {
  const bad: string[] = [];
  let paths: string[] = [];
  const compare = async () => {
    bad.push(...(await findPathsWithoutOutput(db, paths)));
    paths = [];
  };
  for await (const path of storage.list(new Date(Date.now() - OLD_MS))) {
    paths.push(path);
    if (paths.length >= PAGE) await compare();
  }
  await compare();
  return { name: ROWS_INVARIANT, violations: bad.length, examples: bad.slice(0, 10) };
}

async function checkFiles(db: Db, storage: Storage): Promise<InvariantResult> {
  const bad: string[] = [];
  for (let skip = 0; ; skip += PAGE) {
    const page = await listStoredOutputs(db, { skip, take: PAGE });
    for (const { path, bytes, sha256 } of page) {
      const problem = await problemOf(storage, path, bytes, Buffer.from(sha256 ?? []).toString('hex'));
      if (problem !== null) bad.push(`${path ?? '(no path)'}${problem}`);
    }
    if (page.length < PAGE)
      return { name: FILES_INVARIANT, violations: bad.length, examples: bad.slice(0, 10) };
  }
}

/** Null when the file is the one that was stored; one that can't be read stops none of the others. */
async function problemOf(
  storage: Storage,
  path: string | null,
  bytes: bigint | null,
  sha256: string,
): Promise<string | null> {
  if (path === null) return '';
  try {
    const file = await storage.stat(path);
    if (file === null) return ' (gone)';
    return BigInt(file.bytes) === bytes && file.sha256 === sha256 ? null : ' (changed)';
  } catch (error) {
    return ` (${error instanceof Error ? error.message : String(error)})`;
  }
}
