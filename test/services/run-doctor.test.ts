import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { runDoctor } from '../../src/services/run-doctor.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';
import { newInput } from '../db/inputs.ts';

const test = useDatabase();
const SAME = 'every stored output has its file with the same sha256';
const SAME_INPUT = 'every stored input has its file with the same sha256';
const ROW = 'every old file has its row';
let root: string;
let storage: Storage;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  storage = createFilesystemStorage(root);
  onTestFinished(async () => {
    await rm(root, { recursive: true, force: true });
    await test.sql(`UPDATE output SET state = 'deleted', deleted_at = now() WHERE state = 'stored'`);
    await test.sql(`UPDATE stored_input SET state = 'deleted', deleted_at = now() WHERE state = 'stored'`);
  });
});

async function write(path: string) {
  const file = await storage.create(path);
  await file.write(randomBytes(64));
  return file.commit();
}
/** A stored output with its file; the path of both. */
async function stored(): Promise<string> {
  const id = await storing(test.db, await newTenant(test.db));
  const file = await write(`${id}/0-1`);
  await store(test.db, id, file);
  return file.path;
}
/** A stored input with its file; the path of both. */
async function given(): Promise<string> {
  const inputId = newId('inp');
  const file = await write(`${inputId}/0-1`);
  await newInput(test.db, await newTenant(test.db), { inputId, ...file });
  return file.path;
}

async function violated(): Promise<Record<string, readonly string[]>> {
  const found = (await runDoctor({ db: test.db, storage })).filter(({ violations }) => violations > 0);
  return Object.fromEntries(found.map(({ name, examples }) => [name, examples]));
}

describe('darkroom doctor over the files', () => {
  it('names every invariant once, those of the files last', async () => {
    const names = (await runDoctor({ db: test.db, storage })).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.slice(-3)).toEqual([SAME, SAME_INPUT, ROW]);
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

  it('finds the file of an input that is gone or changed', async () => {
    const [gone, changed] = [await given(), await given()];
    expect(await violated()).toEqual({});
    await storage.remove(gone);
    await writeFile(join(root, changed), 'other bytes');
    expect((await violated())[SAME_INPUT]?.toSorted()).toEqual(
      [`${gone} (gone)`, `${changed} (changed)`].toSorted(),
    );
  });

  it('looks at each of more files than fit into one page', async () => {
    const tenant = await newTenant(test.db, 60_000);
    const id = await storing(test.db, tenant, 100);
    for (let index = 0; index < 100; index += 1) await store(test.db, id, { index });
    await test.sql(
      `INSERT INTO stored_input (id, tenant_id, source, path, bytes, sha256, media_type, created_at, expires_at)
       SELECT 'inp_' || lpad(i::text, 26, '0'), $1, 'upload', 'inp_' || lpad(i::text, 26, '0') || '/0-1', 1, decode(repeat('ab', 32), 'hex'), 'image/png', now(), now()
       FROM generate_series(1, 1001) AS i`,
      [tenant.id],
    );
    const found = await runDoctor({ db: test.db, storage });
    expect(found.slice(-3).map(({ violations, examples }) => [violations, examples.length])).toEqual([
      [100, 10],
      [1_001, 10],
      [0, 0],
    ]);
  });

  it('a file that is removed while it looks is no violation', async () => {
    const [output, input] = [await stored(), await given()];
    const old = new Date(Date.now() - 26 * 3_600_000);
    for (const path of [output, input]) await utimes(join(root, path), old, old);
    const vanishing = {
      ...storage,
      async stat(path: string) {
        await test.sql(`UPDATE output SET state = 'deleted', deleted_at = now() WHERE path = $1`, [path]);
        await test.sql(`UPDATE stored_input SET state = 'deleted', deleted_at = now() WHERE path = $1`, [
          path,
        ]);
        return null;
      },
    };
    const found = (await runDoctor({ db: test.db, storage: vanishing })).filter(
      ({ violations }) => violations > 0,
    );
    expect(found).toEqual([]);
  });

  it('finds an old file without a row, and leaves a young one to the attempt that writes it', async () => {
    const [known, input] = [await stored(), await given()];
    const orphan = 'gen_01jzx3k9q8v7w6t5s4r3p2n1mm/0-1';
    const file = await storage.create(orphan);
    await file.write(Buffer.from('nobody’s'));
    await file.commit();
    expect(await violated()).toEqual({});
    const old = new Date(Date.now() - 26 * 3_600_000);
    await Promise.all([known, input, orphan].map((path) => utimes(join(root, path), old, old)));
    expect(await violated()).toEqual({ [ROW]: [orphan] });
  });
});
