import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { runDoctor } from '../../src/services/run-doctor.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';

const test = useDatabase();
const SAME = 'every stored output has its file with the same sha256';
const ROW = 'every old file has its row';
let root: string;
let storage: Storage;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  storage = createFilesystemStorage(root);
  onTestFinished(async () => {
    await rm(root, { recursive: true, force: true });
    await test.sql(`UPDATE output SET state = 'deleted' WHERE state = 'stored'`);
  });
});

/** A stored output with its file; the path of both. */
async function stored(): Promise<string> {
  const id = await storing(test.db, await newTenant(test.db));
  const content = randomBytes(64);
  const file = await storage.create(`${id}/0-1`);
  await file.write(content);
  const { path, bytes } = await file.commit();
  await store(test.db, id, { path, bytes, sha256: createHash('sha256').update(content).digest('hex') });
  return path;
}

async function violated(): Promise<Record<string, readonly string[]>> {
  const found = (await runDoctor({ db: test.db, storage })).filter(({ violations }) => violations > 0);
  return Object.fromEntries(found.map(({ name, examples }) => [name, examples]));
}

describe('darkroom doctor over the files', () => {
  it('names every invariant once, those of the files last', async () => {
    const names = (await runDoctor({ db: test.db, storage })).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.slice(-2)).toEqual([SAME, ROW]);
  });

  it('finds a file that is gone or changed', async () => {
    const [gone, changed] = [await stored(), await stored()];
    expect(await violated()).toEqual({});
    await storage.remove(gone);
    await writeFile(join(root, changed), 'other bytes');
    expect((await violated())[SAME]?.toSorted((a, b) => a.localeCompare(b))).toEqual(
      [`${gone} (gone)`, `${changed} (changed)`].toSorted((a, b) => a.localeCompare(b)),
    );
  });

  it('finds an old file without a row, and leaves a young one to the attempt that writes it', async () => {
    const known = await stored();
    const orphan = 'gen_01jzx3k9q8v7w6t5s4r3p2n1mm/0-1';
    const file = await storage.create(orphan);
    await file.write(Buffer.from('nobody’s'));
    await file.commit();
    expect(await violated()).toEqual({});
    const old = new Date(Date.now() - 26 * 3_600_000);
    await Promise.all([known, orphan].map((path) => utimes(join(root, path), old, old)));
    expect(await violated()).toEqual({ [ROW]: [orphan] });
  });
});
