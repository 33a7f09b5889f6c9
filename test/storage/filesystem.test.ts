import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { OpenFile } from '../../src/storage/pending.ts';
import type { Storage } from '../../src/storage/types.ts';

const GENERATION = 'gen_01jzx3k9q8v7w6t5s4r3p2n1mm';
const PATH = `${GENERATION}/0-1`;

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'darkroom storage '));
  onTestFinished(async () => rm(root, { recursive: true, force: true }));
  return root;
}

async function store(storage: Storage, path: string, content: Uint8Array): Promise<void> {
  const file = await storage.create(path);
  await file.write(content);
  await file.commit();
}

async function read(storage: Storage, range?: { start: number; end: number }): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await storage.read(PATH, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

describe('filesystem storage', () => {
  it('DL-9: stores byte for byte, with size and sha256, and shows nothing before commit', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    const content = randomBytes(300_000);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const file = await storage.create(PATH);
    await file.write(content.subarray(0, 100_001));
    await file.write(content.subarray(100_001));
    expect(await storage.stat(PATH)).toBeNull();
    await expect(read(storage)).rejects.toThrow('no file is stored under this path');
    expect(await file.commit()).toEqual({ path: PATH, bytes: 300_000, sha256 });
    expect(await storage.stat(PATH)).toEqual({ bytes: 300_000, sha256 });
    expect((await read(storage)).equals(content)).toBe(true);
    expect(storage.locate(PATH)).toBe(join(root, GENERATION, '0-1'));
    expect((await readFile(storage.locate(PATH))).equals(content)).toBe(true);
    expect(await filesOf(root)).toEqual(['0-1']);
  });

  it('files and folders are closed to others', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    await store(storage, PATH, Buffer.from('x'));
    expect((await stat(storage.locate(PATH))).mode & 0o137).toBe(0);
    expect((await stat(join(root, GENERATION))).mode & 0o027).toBe(0);
  });

  it('reads ranges as HTTP counts them', async () => {
    const storage = createFilesystemStorage(await makeRoot());
    await store(storage, PATH, Buffer.from('0123456789'));
    expect(String(await read(storage, { start: 2, end: 4 }))).toBe('234');
    expect(String(await read(storage, { start: 0, end: 0 }))).toBe('0');
    expect(String(await read(storage, { start: 8, end: 100 }))).toBe('89');
    for (const range of [
      { start: 3, end: 2 },
      { start: -1, end: 2 },
      { start: 0.5, end: 2 },
    ]) {
      await expect(read(storage, range)).rejects.toThrow('range needs whole numbers');
    }
  });

  it('the same path twice is an error, also for two attempts at once, and the first file stays', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    const files = await Promise.all(Array.from({ length: 8 }, async () => storage.create(PATH)));
    await Promise.all(files.map(async (file, i) => file.write(Buffer.from(`content ${i}`))));
    const results = await Promise.allSettled(files.map(async (file) => file.commit()));
    const won = results.findIndex((result) => result.status === 'fulfilled');
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect(results.find((result) => result.status === 'rejected')?.reason).toMatchObject({
      code: 'EEXIST',
      message: 'a file is already stored under this path: each attempt needs a path of its own',
    });
    expect(String(await read(storage))).toBe(`content ${won}`);
    expect(await filesOf(root)).toEqual(['0-1']);
  });

  it('discard removes the file, at any time and any number of times', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    const file = await storage.create(PATH);
    const writing = file.write(Buffer.alloc(1_000_000));
    await Promise.all([file.discard(), writing.catch(() => {})]);
    await file.discard();
    expect(await filesOf(root)).toEqual([]);
    await expect(file.write(Buffer.from('x'))).rejects.toThrow('the file is already discarded');
    await expect(file.commit()).rejects.toThrow('the file is already discarded');

    const kept = await storage.create(PATH);
    await kept.commit();
    await kept.discard();
    await expect(kept.commit()).rejects.toThrow('the file is already committed');
    expect(await storage.stat(PATH)).toMatchObject({ bytes: 0 });
  });

  it('lists the stored files that are older than a time, and nothing that is not stored', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    const list = async (before: Date) => {
      const paths: string[] = [];
      for await (const path of storage.list(before)) paths.push(path);
      return paths.sort();
    };
    expect(await list(new Date())).toEqual([]);
    await store(storage, PATH, randomBytes(10));
    await store(storage, `${GENERATION}/1-1`, randomBytes(10));
    const pending = await storage.create(`${GENERATION}/2-1`);
    const old = new Date(Date.now() - 86_400_000);
    await utimes(join(root, GENERATION, '1-1'), old, old);
    expect(await list(new Date(Date.now() - 3_600_000))).toEqual([`${GENERATION}/1-1`]);
    expect(await list(new Date(Date.now() + 60_000))).toEqual([PATH, `${GENERATION}/1-1`]);
    await pending.discard();
  });

  it('remove is idempotent and keeps the other outputs', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    await store(storage, PATH, Buffer.from('a'));
    await store(storage, `${GENERATION}/1-1`, Buffer.from('b'));
    await storage.remove(PATH);
    await storage.remove(PATH);
    expect(await storage.stat(PATH)).toBeNull();
    expect(await storage.stat(`${GENERATION}/1-1`)).toMatchObject({ bytes: 1 });
    await storage.remove(`${GENERATION}/1-1`);
    expect(await readdir(root)).toEqual(['tmp']);
  });

  it.each([
    '',
    '0-1',
    GENERATION,
    `${GENERATION}/`,
    `${GENERATION}/0`,
    `${GENERATION}/../0-1`,
    `../${GENERATION}/0-1`,
    `/${GENERATION}/0-1`,
    `${GENERATION}/0-1/x`,
    `${GENERATION}/0-1\n`,
    `${GENERATION}/0-1\0`,
    `${GENERATION}\\0-1`,
    `${GENERATION}/1234-1`,
    `${GENERATION}/1-1234567`,
    `${GENERATION}/-1-1`,
    `${GENERATION.toUpperCase()}/0-1`,
    `${GENERATION}m/0-1`,
    `gen_${'l'.repeat(26)}/0-1`,
    `${GENERATION}/video.mp4`,
    'tmp/0-1',
    'x'.repeat(300),
  ])('DL-10: refuses the path %j everywhere', async (path) => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root);
    const message = 'storage path is not <generation id>/<index>-<attempt>';
    await expect(storage.create(path)).rejects.toThrow(message);
    await expect(storage.stat(path)).rejects.toThrow(message);
    await expect(storage.read(path)).rejects.toThrow(message);
    await expect(storage.remove(path)).rejects.toThrow(message);
    expect(() => storage.locate(path)).toThrow(message);
    expect(await readdir(root)).toEqual([]);
  });
});

/** A disk that takes this many bytes and then, as a real one, writes a part before it says ENOSPC. */
function fullAfter(capacity: number, failing: 'write' | 'sync' = 'write'): OpenFile {
  let left = capacity;
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  return async (path, flags, mode) => {
    const handle = await open(path, flags, mode);
    return new Proxy(handle, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'sync' && failing === 'sync') return async () => Promise.reject(full);
        if (name === 'write') {
          return async (bytes: Uint8Array, offset: number, length: number) => {
            const part = Math.min(left, length);
            if (part === 0) throw full;
            left -= part;
            return target.write(bytes, offset, part);
          };
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
}

describe('filesystem storage: faults', () => {
  it('DL-12: a full disk is told as such and leaves nothing behind', async () => {
    const root = await makeRoot();
    const storage = createFilesystemStorage(root, fullAfter(1500));
    const file = await storage.create(PATH);
    await file.write(Buffer.alloc(1000));
    await expect(file.write(Buffer.alloc(1000))).rejects.toMatchObject({
      code: 'ENOSPC',
      message: 'the storage is full: free space or enlarge it; the file is fetched again',
    });
    await expect(file.commit()).rejects.toThrow('the file is already discarded');
    await file.discard();
    expect(await filesOf(root)).toEqual([]);
  });

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
    expect(await filesOf(root)).toEqual(['young']);
  });
});
