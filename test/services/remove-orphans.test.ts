import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { removeOrphans } from '../../src/services/remove-orphans.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';
import { newInput } from '../db/inputs.ts';

const test = useDatabase();
const HOUR_MS = 3_600_000;
let root: string;
let storage: Storage;
let problems: string[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'darkroom-orphans-'));
  storage = createFilesystemStorage(root);
  problems = [];
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

async function write(path: string, ageHours = 26): Promise<string> {
  const file = await storage.create(path);
  await file.write(Buffer.from('bytes'));
  await file.commit();
  const then = new Date(Date.now() - ageHours * HOUR_MS);
  await utimes(join(root, path), then, then);
  return path;
}
const orphan = (ageHours?: number) => write(`${newId('gen')}/0-1`, ageHours);
const orphans = (count: number) => Promise.all(Array.from({ length: count }, () => orphan()));
async function known(): Promise<string> {
  const id = await storing(test.db, await newTenant(test.db));
  const path = await write(`${id}/0-1`);
  await store(test.db, id, { path });
  return path;
}
const remove = (options: Partial<Parameters<typeof removeOrphans>[1]> = {}) =>
  removeOrphans(
    { db: test.db, storage, onProblem: (_error, path) => problems.push(path) },
    { limit: 1_000, ...options },
  );
async function left(): Promise<string[]> {
  const paths = [];
  for await (const path of storage.list(new Date())) paths.push(path);
  return paths.toSorted();
}

describe('removeOrphans', () => {
  it('old files without a row go; those of outputs, of inputs and of running attempts stay', async () => {
    const inputId = await newInput(test.db, await newTenant(test.db));
    const stay = [await known(), await write(`${inputId}/0-1`), await orphan(24)];
    const output = stay[0]!.split('/')[0]!;
    const gone = [await orphan(), await write(`${output}/0-2`), await write(`${newId('inp')}/0-1`)];
    const found = await remove();
    expect(found).toMatchObject({ outcome: 'done', seen: 5, removed: 3, failed: 0, more: false });
    expect(found.orphans.toSorted()).toEqual(gone.toSorted());
    expect(await left()).toEqual(stay.toSorted());
    expect(await remove()).toMatchObject({ seen: 2, orphans: [], removed: 0 });
  });

  it('the file of a row that was deleted an hour ago is an orphan: a storage was restored', async () => {
    const [old, fresh] = [await known(), await known()];
    const deleted = (path: string, by: string) =>
      test.sql(`UPDATE output SET state = 'deleted', deleted_at = now() - $2::interval WHERE path = $1`, [
        path,
        by,
      ]);
    await deleted(old, '61 minutes');
    await deleted(fresh, '59 minutes');
    expect(await remove()).toMatchObject({ orphans: [old], removed: 1 });
    expect(await left()).toEqual([fresh]);
  });

  it('a dry run tells and removes nothing', async () => {
    const paths = await orphans(30);
    const found = await remove({ dryRun: true });
    expect(found).toMatchObject({ outcome: 'done', seen: 30, removed: 0 });
    expect(found.orphans.toSorted()).toEqual(paths.toSorted());
    expect(await left()).toHaveLength(30);
  });

  it('at most so many in one pass, and says that there are more', async () => {
    await known();
    await orphans(5);
    expect(await remove({ limit: 3 })).toMatchObject({ removed: 3, more: true });
    expect(await remove({ limit: 2 })).toMatchObject({ removed: 2, more: false });
    expect(await left()).toHaveLength(1);
  });

  it('a storage whose old files mostly have no row may be of another database: nothing is removed', async () => {
    for (let i = 0; i < 5; i += 1) await known();
    await orphans(21);
    expect(await remove()).toMatchObject({ outcome: 'foreign', seen: 26, removed: 0 });
    expect(await left()).toHaveLength(26);
    expect(await remove({ force: true })).toMatchObject({ outcome: 'done', removed: 21 });
    await orphans(20);
    expect(await remove()).toMatchObject({ outcome: 'done', removed: 20 });
  });

  it('one that can’t be removed stops none of the others, and comes again', async () => {
    const [stuck] = await orphans(3);
    const whole = storage;
    storage = {
      ...whole,
      remove: (path) => (path === stuck ? Promise.reject(new Error('EACCES')) : whole.remove(path)),
    };
    expect(await remove()).toMatchObject({ removed: 2, failed: 1 });
    expect([problems, await left()]).toEqual([[stuck], [stuck]]);
    storage = whole;
    expect(await remove()).toMatchObject({ removed: 1, failed: 0 });
  });

  it('stops when it is told to', async () => {
    await orphans(2);
    expect(await remove({ signal: AbortSignal.abort() })).toMatchObject({ removed: 0 });
  });
});
