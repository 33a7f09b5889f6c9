import { checkInvariants, listStoredOutputs } from '../db/index.ts';
import type { Db, InvariantResult } from '../db/index.ts';
import type { Storage } from '../storage/index.ts';

const PAGE = 500;
const FILES_INVARIANT = 'every stored output has its file with the same sha256';

/** All invariants of prisma/invariants.sql in one snapshot, then every stored output against its file. */
export async function runDoctor(ctx: {
  readonly db: Db;
  readonly storage: Storage;
}): Promise<InvariantResult[]> {
  return [...(await checkInvariants(ctx.db)), await checkFiles(ctx.db, ctx.storage)];
}

async function checkFiles(db: Db, storage: Storage): Promise<InvariantResult> {
  const bad: string[] = [];
  for (let skip = 0; ; skip += PAGE) {
    const page = await listStoredOutputs(db, { skip, take: PAGE });
    for (const { path, bytes, sha256 } of page) {
      const file = path === null ? null : await storage.stat(path);
      const same =
        file !== null &&
        BigInt(file.bytes) === bytes &&
        file.sha256 === Buffer.from(sha256 ?? []).toString('hex');
      if (!same) bad.push(path ?? '(no path)');
    }
    if (page.length < PAGE)
      return { name: FILES_INVARIANT, violations: bad.length, examples: bad.slice(0, 10) };
  }
}
