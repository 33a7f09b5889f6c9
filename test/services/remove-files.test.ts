import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { countFileRemovals, deleteOutputs, settle } from '../../src/db/index.ts';
import { removeFiles } from '../../src/services/remove-files.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';
import { newInput } from '../db/inputs.ts';
import { SUCCEEDED } from '../db/money.ts';

const test = useDatabase();
const OPTIONS = { limit: 100, leaseMs: 60_000 };
let root: string;
let storage: Storage;
let problems: string[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'darkroom-remove-'));
  storage = createFilesystemStorage(root);
  problems = [];
  onTestFinished(async () => {
    vi.useRealTimers();
    await rm(root, { recursive: true, force: true });
    await test.sql(`UPDATE output SET state = 'deleted', deleted_at = now() WHERE state = 'deleting'`);
    await test.sql(`UPDATE stored_input SET state = 'deleted', deleted_at = now() WHERE state = 'deleting'`);
  });
});

const onProblem = (_error: unknown, path: string) => problems.push(path);
async function write(path: string): Promise<void> {
  const file = await storage.create(path);
  await file.write(Buffer.from('bytes'));
  await file.commit();
}
/** An output with its file, which its tenant has deleted; its path. */
async function doomed(): Promise<string> {
  const tenant = await newTenant(test.db);
  const id = await storing(test.db, tenant);
  const path = `${id}/0-1`;
  await write(path);
  await store(test.db, id, { path });
  await settle(test.db, id, SUCCEEDED);
  await deleteOutputs(test.db, { generationId: id, tenantId: tenant.id });
  return path;
}
const stateOf = async (path: string) =>
  (await test.db.prisma.output.findUniqueOrThrow({ where: { path } })).state;
const again = () => test.sql(`UPDATE output SET lease_until = now() WHERE state = 'deleting'`);

describe('removeFiles', () => {
  it('outputs and inputs go from the storage, then from the rows', async () => {
    const path = await doomed();
    const inputId = await newInput(test.db, await newTenant(test.db), { keepMs: 0 });
    await write(`${inputId}/0-1`);
    expect(await removeFiles({ db: test.db, storage, onProblem }, OPTIONS)).toBe(2);
    expect(await readdir(root)).toEqual(['tmp']);
    expect(await stateOf(path)).toBe('deleted');
    const input = await test.db.prisma.storedInput.findUniqueOrThrow({ where: { id: inputId } });
    expect([input.state, problems]).toEqual(['deleted', []]);
    expect(await removeFiles({ db: test.db, storage, onProblem }, OPTIONS)).toBe(0);
  });

  it('one whose file is gone already is done', async () => {
    const path = await doomed();
    await storage.remove(path);
    await removeFiles({ db: test.db, storage, onProblem }, OPTIONS);
    expect([await stateOf(path), problems]).toEqual(['deleted', []]);
  });

  it('one that can’t be removed stops none of the others, and is tried again after its lease', async () => {
    const paths = [await doomed(), await doomed(), await doomed()];
    const [stuck] = paths;
    const broken = {
      remove: (path: string) => (path === stuck ? Promise.reject(new Error('EACCES')) : storage.remove(path)),
    };
    await removeFiles({ db: test.db, storage: broken, onProblem }, OPTIONS);
    expect(await Promise.all(paths.map(stateOf))).toEqual(['deleting', 'deleted', 'deleted']);
    expect([problems, await countFileRemovals(test.db)]).toEqual([[stuck], 1]);
    expect(await removeFiles({ db: test.db, storage, onProblem }, OPTIONS)).toBe(0);
    await again();
    expect(await removeFiles({ db: test.db, storage, onProblem }, OPTIONS)).toBe(1);
    expect(await stateOf(stuck!)).toBe('deleted');
  });

  it('a storage that does not answer is waited for 30 s, then the file comes again', async () => {
    const path = await doomed();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = () => {};
    const askedFor = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const silent = {
      remove: () => {
        asked();
        return new Promise<void>(() => {});
      },
    };
    const removing = removeFiles({ db: test.db, storage: silent, onProblem }, OPTIONS);
    await askedFor;
    await vi.advanceTimersByTimeAsync(29_999);
    expect(problems).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    expect([await removing, problems, await stateOf(path)]).toEqual([1, [path], 'deleting']);
  });

  it('several processes share the files; stopped, the rest waits for its lease', async () => {
    const paths = await Promise.all(Array.from({ length: 12 }, doomed));
    const removed: string[] = [];
    const counting = {
      remove: async (path: string) => {
        removed.push(path);
        await storage.remove(path);
      },
    };
    const ctx = { db: test.db, storage: counting, onProblem };
    await Promise.all(Array.from({ length: 4 }, () => removeFiles(ctx, { limit: 2, leaseMs: 60_000 })));
    expect(removed).toHaveLength(8);
    expect(await removeFiles(ctx, OPTIONS, AbortSignal.abort())).toBe(4);
    expect(removed).toHaveLength(8);
    await again();
    await removeFiles(ctx, OPTIONS);
    expect(removed.toSorted()).toEqual(paths.toSorted());
  });
});
