import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/types.ts';

export const GENERATION = 'gen_01jzx3k9q8v7w6t5s4r3p2n1mm';
export const PATH = `${GENERATION}/0-1`;
const HOSTILE_PATHS = [
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
  'probe/0-1',
  'x'.repeat(300),
];
const FULL = 'the storage is full: free space or enlarge it; the file is fetched again';

/** An empty place of one driver, for one test. */
export interface Bench {
  readonly storage: Storage;
  /** What `locate(PATH)` says. */
  readonly located: string;
  /** All that lies there: stored files by their path, and by other names whatever is not visible yet. */
  readonly everything: () => Promise<string[]>;
  /** The same place with room for so many bytes more. */
  readonly withRoomFor: (bytes: number) => Promise<Storage>;
}

export async function store(
  storage: Pick<Storage, 'create'>,
  path: string,
  content: Uint8Array,
): Promise<void> {
  const file = await storage.create(path);
  await file.write(content);
  await file.commit();
}

export async function read(
  storage: Pick<Storage, 'read'>,
  range?: { start: number; end: number },
  path = PATH,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await storage.read(path, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function list(storage: Pick<Storage, 'list'>, before: Date): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of storage.list(before)) paths.push(path);
  return paths.sort();
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** What holds for every driver of the Storage port. */
export function storageContract(name: string, open: () => Promise<Bench>): void {
  describe(`${name}: the storage contract`, () => {
    it('DL-9: stores byte for byte, with size and sha256, and shows nothing before commit', async () => {
      const { storage, located, everything } = await open();
      const content = randomBytes(300_000);
      const file = await storage.create(PATH);
      await file.write(content.subarray(0, 100_001));
      await file.write(content.subarray(100_001));
      expect(await storage.stat(PATH)).toBeNull();
      await expect(read(storage)).rejects.toThrow('no file is stored under this path');
      expect(await list(storage, new Date(Date.now() + 60_000))).toEqual([]);
      expect(await file.commit()).toEqual({ path: PATH, bytes: 300_000, sha256: sha256(content) });
      expect(await storage.stat(PATH)).toEqual({ bytes: 300_000, sha256: sha256(content) });
      expect((await read(storage)).equals(content)).toBe(true);
      expect(storage.locate(PATH)).toBe(located);
      expect(await everything()).toEqual([PATH]);
    });

    it('DL-9: a file of 20 MB in odd pieces of a buffer that is used again; its ends and middle by range', async () => {
      const { storage, everything } = await open();
      const content = randomBytes(20_000_001);
      const file = await storage.create(PATH);
      const buffer = Buffer.alloc(999_983);
      for (let at = 0; at < content.length; at += buffer.length) {
        const taken = content.copy(buffer, 0, at, at + buffer.length);
        await file.write(buffer.subarray(0, taken));
        buffer.fill(0);
      }
      expect(await storage.stat(PATH)).toBeNull();
      expect(await file.commit()).toEqual({ path: PATH, bytes: content.length, sha256: sha256(content) });
      expect(await storage.stat(PATH)).toEqual({ bytes: content.length, sha256: sha256(content) });
      for (const [start, end] of [
        [0, 9],
        [8_388_600, 8_388_620],
        [19_999_990, 20_000_000],
      ] as const) {
        expect((await read(storage, { start, end })).equals(content.subarray(start, end + 1))).toBe(true);
      }
      expect(await everything()).toEqual([PATH]);
    });

    it.each([8 * 1024 * 1024, 16 * 1024 * 1024 + 1])(
      'exactly %i bytes, at the border between parts',
      async (bytes) => {
        const { storage, everything } = await open();
        const content = randomBytes(bytes);
        await store(storage, PATH, content);
        expect(await storage.stat(PATH)).toEqual({ bytes, sha256: sha256(content) });
        expect(await everything()).toEqual([PATH]);
      },
    );

    it('an empty file is a file', async () => {
      const { storage } = await open();
      const file = await storage.create(PATH);
      const empty = { bytes: 0, sha256: sha256(Buffer.alloc(0)) };
      expect(await file.commit()).toEqual({ path: PATH, ...empty });
      expect(await storage.stat(PATH)).toEqual(empty);
      expect(await read(storage)).toHaveLength(0);
      expect(await read(storage, { start: 0, end: 9 })).toHaveLength(0);
    });

    it('reads ranges as HTTP counts them', async () => {
      const { storage } = await open();
      await store(storage, PATH, Buffer.from('0123456789'));
      expect(String(await read(storage, { start: 2, end: 4 }))).toBe('234');
      expect(String(await read(storage, { start: 0, end: 0 }))).toBe('0');
      expect(String(await read(storage, { start: 8, end: 100 }))).toBe('89');
      expect(String(await read(storage, { start: 10, end: 100 }))).toBe('');
      for (const range of [
        { start: 3, end: 2 },
        { start: -1, end: 2 },
        { start: 0.5, end: 2 },
      ]) {
        await expect(read(storage, range)).rejects.toThrow('range needs whole numbers');
      }
    });

    it('reading may end early, and what was never stored can not be read', async () => {
      const { storage } = await open();
      await store(storage, PATH, randomBytes(1_000_000));
      for (let time = 0; time < 3; time += 1) {
        for await (const chunk of await storage.read(PATH)) {
          expect(chunk.length).toBeGreaterThan(0);
          break;
        }
      }
      expect(await read(storage)).toHaveLength(1_000_000);
      const other = `${GENERATION}/0-2`;
      expect(await storage.stat(other)).toBeNull();
      await expect(read(storage, undefined, other)).rejects.toThrow('no file is stored under this path');
    });

    it('the same path twice is an error, also for eight attempts at once, and the first file stays', async () => {
      const { storage, everything } = await open();
      const files = await Promise.all(Array.from({ length: 8 }, async () => storage.create(PATH)));
      await Promise.all(files.map(async (file, i) => file.write(Buffer.from(`content ${i}`))));
      const results = await Promise.allSettled(files.map(async (file) => file.commit()));
      const won = results.findIndex((result) => result.status === 'fulfilled');
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      expect(refused).toHaveLength(7);
      for (const reason of refused) {
        expect(reason).toMatchObject({
          name: 'StorageError',
          code: 'EEXIST',
          message: 'a file is already stored under this path: each attempt needs a path of its own',
        });
      }
      expect(String(await read(storage))).toBe(`content ${won}`);
      expect(await everything()).toEqual([PATH]);
    });

    it('discard removes the file, at any time and any number of times', async () => {
      const { storage, everything } = await open();
      const file = await storage.create(PATH);
      const writing = file.write(Buffer.alloc(1_000_000));
      await Promise.all([file.discard(), writing.catch(() => {})]);
      await file.discard();
      expect(await everything()).toEqual([]);
      await expect(file.write(Buffer.from('x'))).rejects.toThrow('the file is already discarded');
      await expect(file.commit()).rejects.toThrow('the file is already discarded');

      const large = await storage.create(PATH);
      const writingLarge = large.write(Buffer.alloc(20_000_000));
      await Promise.all([large.discard(), writingLarge.catch(() => {})]);
      expect(await everything()).toEqual([]);

      const kept = await storage.create(PATH);
      await kept.commit();
      await kept.discard();
      await expect(kept.commit()).rejects.toThrow('the file is already committed');
      expect(await storage.stat(PATH)).toMatchObject({ bytes: 0 });
    });

    it('lists what was stored before a time, and nothing that is not stored', async () => {
      const { storage } = await open();
      expect(await list(storage, new Date())).toEqual([]);
      await store(storage, PATH, randomBytes(10));
      await store(storage, `${GENERATION}/1-1`, randomBytes(10));
      const pending = await storage.create(`${GENERATION}/2-1`);
      await pending.write(randomBytes(10));
      expect(await list(storage, new Date(Date.now() - 3_600_000))).toEqual([]);
      expect(await list(storage, new Date(Date.now() + 60_000))).toEqual([PATH, `${GENERATION}/1-1`]);
      await pending.discard();
    });

    it('remove is idempotent and keeps the other outputs', async () => {
      const { storage, everything } = await open();
      await store(storage, PATH, Buffer.from('a'));
      await store(storage, `${GENERATION}/1-1`, Buffer.from('b'));
      await storage.remove(PATH);
      await storage.remove(PATH);
      expect(await storage.stat(PATH)).toBeNull();
      expect(await storage.stat(`${GENERATION}/1-1`)).toMatchObject({ bytes: 1 });
      await storage.remove(`${GENERATION}/1-1`);
      expect(await everything()).toEqual([]);
    });

    it('DL-12: no room for a small file: told as such, nothing left', async () => {
      const { withRoomFor, everything, storage } = await open();
      const full = await withRoomFor(1_500);
      const file = await full.create(PATH);
      const attempt = async () => {
        await file.write(Buffer.alloc(1_000));
        await file.write(Buffer.alloc(1_000));
        await file.commit();
      };
      await expect(attempt()).rejects.toMatchObject({ name: 'StorageError', message: FULL });
      await expect(file.commit()).rejects.toThrow('the file is already discarded');
      await file.discard();
      expect(await everything()).toEqual([]);
      expect(await storage.stat(PATH)).toBeNull();
    });

    it('DL-12: no more room in the middle of a large file: told before all is written, nothing left', async () => {
      const { withRoomFor, everything } = await open();
      const full = await withRoomFor(10_000_000);
      const file = await full.create(PATH);
      let written = 0;
      const attempt = async () => {
        for (; written < 100; written += 1) await file.write(Buffer.alloc(1_000_000));
      };
      await expect(attempt()).rejects.toMatchObject({ name: 'StorageError', message: FULL });
      expect(written).toBeLessThan(60);
      expect(await everything()).toEqual([]);
      await file.discard();
    });

    it('check leaves nothing', async () => {
      const { storage, everything } = await open();
      await storage.check();
      await storage.check();
      expect(await everything()).toEqual([]);
    });

    it('DL-10: refuses every path that is not made of our own ids', async () => {
      const { storage, everything } = await open();
      const message = 'storage path is not <generation id>/<index>-<attempt>';
      const header = { expiresInSeconds: 60, contentType: 'video/mp4', contentDisposition: 'inline' };
      for (const path of HOSTILE_PATHS) {
        const calls = [
          storage.create(path),
          storage.stat(path),
          storage.read(path),
          storage.remove(path),
          ...(storage.presign === undefined ? [] : [storage.presign(path, header)]),
        ];
        for (const call of calls) await expect(call, path).rejects.toThrow(message);
        expect(() => storage.locate(path), path).toThrow(message);
      }
      expect(await everything()).toEqual([]);
    });
  });
}
