import { checkInvariants, isStillStored, listStoredFiles } from '../db/index.ts';
import type { Db, InvariantResult, StoredFile } from '../db/index.ts';
import type { Storage } from '../storage/index.ts';
import { findOrphans } from './find-orphans.ts';

const PAGE = 500;
const EXAMPLES = 10;
const FILES_INVARIANTS = {
  output: 'every stored output has its file with the same sha256',
  input: 'every stored input has its file with the same sha256',
} as const;
type Kind = keyof typeof FILES_INVARIANTS;
const ROWS_INVARIANT = 'every old file has its row';

interface DoctorContext {
  readonly db: Db;
  readonly storage: Storage;
}

/**
 * All invariants of prisma/invariants.sql in one snapshot, then stored outputs and inputs against files, both ways.
 * @param onCheck told of each before it is checked, with its place from 1 and how many there are
 */
export async function runDoctor(
  ctx: DoctorContext,
  onCheck: (name: string, place: number, of: number) => void = () => {},
): Promise<InvariantResult[]> {
  const files: readonly (readonly [string, () => Promise<InvariantResult>])[] = [
    [FILES_INVARIANTS.output, () => checkFiles(ctx, 'output')],
    [FILES_INVARIANTS.input, () => checkFiles(ctx, 'input')],
    [ROWS_INVARIANT, () => checkRows(ctx)],
  ];
  const results = await checkInvariants(ctx.db, (name, place, of) => onCheck(name, place, of + files.length));
  const [rows, all] = [results.length, results.length + files.length];
  for (const [i, [name, check]] of files.entries()) {
    onCheck(name, rows + i + 1, all);
    results.push(await check());
  }
  return results;
}

async function checkRows(ctx: DoctorContext): Promise<InvariantResult> {
  let violations = 0;
  const examples: string[] = [];
  for await (const { orphans } of findOrphans(ctx)) {
    violations += orphans.length;
    examples.push(...orphans.slice(0, EXAMPLES - examples.length));
  }
  return { name: ROWS_INVARIANT, violations, examples };
}

async function checkFiles(ctx: DoctorContext, kind: Kind): Promise<InvariantResult> {
  let violations = 0;
  const examples: string[] = [];
  for (let after: string | null = null; ;) {
    const page: StoredFile[] = await listStoredFiles(ctx.db, kind, { after, take: PAGE });
    for (const file of page) {
      const problem = await problemOf(ctx.storage, file);
      if (problem === null || (file.path !== null && !(await isStillStored(ctx.db, kind, file.path))))
        continue;
      violations += 1;
      if (examples.length < EXAMPLES) examples.push(`${file.path ?? '(no path)'}${problem}`);
    }
    after = page.at(-1)?.key ?? null;
    if (page.length < PAGE) return { name: FILES_INVARIANTS[kind], violations, examples };
  }
}

/** Null when the file is the one that was stored; one that can't be read stops none of the others. */
async function problemOf(storage: Storage, { path, bytes, sha256 }: StoredFile): Promise<string | null> {
  if (path === null) return '';
  try {
    const file = await storage.stat(path);
    if (file === null) return ' (gone)';
    return BigInt(file.bytes) === bytes && file.sha256 === sha256 ? null : ' (changed)';
  } catch (error) {
    return ` (${error instanceof Error ? error.message : String(error)})`;
  }
}
