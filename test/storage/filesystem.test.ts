import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import { fullAfter } from './full-disk.ts';
import { GENERATION, list, PATH, read, storageContract, store } from './storage.testsuite.ts';

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'darkroom storage '));
  onTestFinished(async () => rm(root, { recursive: true, force: true }));
  return root;
}

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(root, join(parentPath, name)));
}

storageContract('filesystem', async () => {
  const root = await makeRoot();
  return {
    storage: createFilesystemStorage(root),
    located: join(root, GENERATION, '0-1'),
    everything: () => filesOf(root),
    withRoomFor: async (bytes) => createFilesystemStorage(root, fullAfter(bytes)),
  };
});

describe('filesystem storage', () => {
  it('files and folders are closed to others', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    await store(storage, PATH, Buffer.from('x'));
    expect((await stat(storage.locate(PATH))).mode & 0o137).toBe(0);
    expect((await stat(join(root, GENERATION))).mode & 0o027).toBe(0);
  });

  it('locates the file that it has stored, and hands out no link to it', async () => {
    const storage = createFilesystemStorage(await makeRoot());
    const content = randomBytes(1_000);
    await store(storage, PATH, content);
    expect((await readFile(storage.locate(PATH))).equals(content)).toBe(true);
    expect('presign' in storage).toBe(false);
  });

  it('lists by the time of each file, and nothing that somebody else put there', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    await store(storage, PATH, randomBytes(10));
    await store(storage, `${GENERATION}/1-1`, randomBytes(10));
    await writeFile(join(root, GENERATION, 'notes.txt'), 'x');
    await writeFile(join(root, 'notes.txt'), 'x');
    const old = new Date(Date.now() - 86_400_000);
    await utimes(join(root, GENERATION, '1-1'), old, old);
    await utimes(join(root, GENERATION, 'notes.txt'), old, old);
    expect(await list(storage, new Date(Date.now() - 3_600_000))).toEqual([`${GENERATION}/1-1`]);
  });

  it('removes the folder of a generation with its last output', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    await store(storage, PATH, Buffer.from('a'));
    await storage.remove(PATH);
    expect(await readdir(root)).toEqual(['tmp']);
  });
});

describe('filesystem storage: faults', () => {
  it('DL-12: a disk that is full only at fsync leaves nothing behind', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root, fullAfter(1e6, 'sync'));
    const file = await storage.create(PATH);
    await file.write(Buffer.alloc(1000));
    await expect(file.commit()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await filesOf(root)).toEqual([]);
    expect(await storage.stat(PATH)).toBeNull();
  });

  it('a write that the disk takes in parts is complete', async () => {
    const root = await makeRoot();
    const content = randomBytes(1000);
    const storage = createFilesystemStorage(root, async (path, flags, mode) => {
      const handle = await open(path, flags, mode);
      return new Proxy(handle, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (name === 'write') {
            return async (bytes: Uint8Array, offset: number, length: number) =>
              target.write(bytes, offset, Math.min(7, length));
          }
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    });
    await store(storage, PATH, content);
    expect((await read(storage)).equals(content)).toBe(true);
  });

  it('a folder that is none is a failure of the storage, when a file begins and in check', async () => {
    const root = await makeRoot();
    await writeFile(join(root, 'tmp'), 'in the way');
    const storage = createFilesystemStorage(root);
    await expect(storage.create(PATH)).rejects.toMatchObject({
      name: 'StorageError',
      code: 'EEXIST',
      message: 'the file cannot be stored',
    });
    await expect(storage.check()).rejects.toThrow('cannot be used');
  });

  it('check writes a probe, removes it, and says what is wrong', async () => {
    const root = await makeRoot();
    await createFilesystemStorage(join(root, 'new', 'folder')).check();
    expect(await filesOf(root)).toEqual([]);
    await writeFile(join(root, 'file'), '');
    const broken = createFilesystemStorage(join(root, 'file'));
    await expect(broken.check()).rejects.toThrow(/storage folder .*file cannot be used: .*set STORAGE_URL/);
    const full = createFilesystemStorage(root, fullAfter(0, 'sync'));
    await expect(full.check()).rejects.toThrow(/cannot be used: ENOSPC/);
    expect(await filesOf(root)).toEqual(['file']);
  });

  it('check removes temporary files of killed processes after a day, not those of running ones', async () => {
    const root = await makeRoot();
    await mkdir(join(root, 'tmp'));
    await writeFile(join(root, 'tmp', 'old'), 'x');
    await writeFile(join(root, 'tmp', 'young'), 'x');
    const dayAgo = Date.now() / 1000 - 25 * 3600;
    await utimes(join(root, 'tmp', 'old'), dayAgo, dayAgo);
    await createFilesystemStorage(root).check();
    expect(await filesOf(root)).toEqual([join('tmp', 'young')]);
  });
});
