import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { codeOf, FAILURE_TEXTS } from './failures.ts';
import {
  createFileSink,
  explainFileError,
  FILE_MODE,
  FOLDER_MODE,
  type OpenFile,
  syncFolder,
} from './file-sink.ts';
import { assertRange, assertStoragePath, isStoragePath } from './paths.ts';
import { createPendingFile } from './pending.ts';
import type { Storage } from './types.ts';

const TEMPORARY = 'tmp';
const STALE_MS = 24 * 60 * 60 * 1000;

/**
 * Outputs as files below one folder. A file appears under its path only when it is whole and on the disk; the same path
 * a second time is an error. Several processes may share the folder. `openFile` is replaced in tests only.
 */
export function createFilesystemStorage(root: string, openFile: OpenFile = open): Storage {
  const base = resolve(root);
  const temporary = join(base, TEMPORARY);
  const locate = (path: string): string => {
    assertStoragePath(path);
    return join(base, path);
  };

  return {
    locate,
    async create(path) {
      const target = locate(path);
      const open = async () => {
        await mkdir(temporary, { recursive: true, mode: FOLDER_MODE });
        return createFileSink({ target, temporary: join(temporary, randomUUID()), openFile });
      };
      const sink = await open().catch((error: unknown) => {
        throw explainFileError(error);
      });
      return createPendingFile(path, sink, explainFileError);
    },
    async stat(path) {
      const handle = await openStored(locate(path));
      if (handle === null) return null;
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of handle.createReadStream()) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { bytes, sha256: hash.digest('hex') };
    },
    async read(path, range) {
      const target = locate(path);
      if (range !== undefined) assertRange(range);
      const handle = await openStored(target);
      if (handle === null) throw new Error(FAILURE_TEXTS.missing);
      return handle.createReadStream(range ?? {});
    },
    async *list(before) {
      for (const folder of await namesIn(base)) {
        if (folder === TEMPORARY) continue;
        for (const file of await namesIn(join(base, folder))) {
          const path = `${folder}/${file}`;
          const facts = isStoragePath(path) ? await stat(join(base, path)).catch(() => null) : null;
          if (facts?.isFile() === true && facts.mtime < before) yield path;
        }
      }
    },
    async remove(path) {
      const target = locate(path);
      await rm(target, { force: true });
      // Fails while other outputs are there, which is right.
      await rmdir(dirname(target)).catch(() => {});
    },
    async check() {
      await mkdir(temporary, { recursive: true, mode: FOLDER_MODE })
        .then(() => probe(join(temporary, randomUUID()), openFile))
        .catch((error: unknown) => {
          const reason = error instanceof Error ? error.message : String(error);
          throw new Error(
            `the storage folder ${base} cannot be used: ${reason}. It needs write access for this user, free space and a file system with hard links; or set STORAGE_URL to another folder.`,
            { cause: error },
          );
        });
      await removeStale(temporary);
    },
  };
}

/** Does what storing a file does, and removes all of it. */
async function probe(file: string, openFile: OpenFile): Promise<void> {
  try {
    const handle = await openFile(file, 'wx', FILE_MODE);
    try {
      await handle.writeFile('probe');
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(file, `${file}-link`);
    await syncFolder(dirname(file));
  } finally {
    await rm(file, { force: true });
    await rm(`${file}-link`, { force: true });
  }
}

async function openStored(target: string): Promise<Awaited<ReturnType<typeof open>> | null> {
  try {
    return await open(target, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error;
  }
}

/** Empty for what is no folder, or is gone. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Temporary files that a killed process left behind; no attempt lives for a day. */
async function removeStale(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    const file = join(temporary, name);
    const facts = await stat(file).catch(() => null);
    if (facts !== null && Date.now() - facts.mtimeMs > STALE_MS) await rm(file, { force: true });
  }
}
