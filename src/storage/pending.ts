import { createHash } from 'node:crypto';
import { link, mkdir, open, type FileHandle, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PendingFile } from './types.ts';

/** What is used of `open` of node:fs/promises. */
export type OpenFile = (path: string, flags: string, mode: number) => Promise<FileHandle>;

export const FILE_MODE = 0o640;
export const FOLDER_MODE = 0o750;

interface NewFile {
  readonly path: string;
  /** Where it will be; must be in the same file system as `temporary`. */
  readonly target: string;
  readonly temporary: string;
  readonly openFile: OpenFile;
}

/** Opens the temporary file; any failure, then or later, leaves nothing behind. */
export async function createFile({ path, target, temporary, openFile }: NewFile): Promise<PendingFile> {
  const handle = await openFile(temporary, 'wx', FILE_MODE).catch((error: unknown) => {
    throw explain(error);
  });
  const hash = createHash('sha256');
  let bytes = 0;
  let state: 'open' | 'committed' | 'discarded' = 'open';

  const clean = async (): Promise<void> => {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
  };
  const assertOpen = (): void => {
    if (state !== 'open') throw new Error(`the file is already ${state}: create a new one for a new attempt`);
  };
  const orClean = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      state = 'discarded';
      await clean();
      throw explain(error);
    }
  };

  return {
    async write(chunk) {
      assertOpen();
      await orClean(async () => writeAll(handle, chunk));
      hash.update(chunk);
      bytes += chunk.length;
    },
    async commit() {
      assertOpen();
      state = 'committed';
      await orClean(async () => {
        await handle.sync();
        await publish(temporary, target);
      });
      // It stands: a temporary name that stays is removed by a later check().
      await clean().catch(() => {});
      return { path, bytes, sha256: hash.digest('hex') };
    },
    async discard() {
      if (state !== 'open') return;
      state = 'discarded';
      await clean();
    },
  };
}

/** fsync of a folder makes its names durable; Windows has no such call. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Gives the whole file its name. A hard link, unlike a rename, never replaces a file that is already there. */
async function publish(temporary: string, target: string): Promise<void> {
  const folder = dirname(target);
  const isNewFolder = await linkInto(folder, temporary, target);
  try {
    await syncFolder(folder);
    if (isNewFolder) await syncFolder(dirname(folder));
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
}

/** Returns whether the folder had to be made. */
async function linkInto(folder: string, temporary: string, target: string): Promise<boolean> {
  const attempts = 3;
  for (let attempt = 1; ; attempt++) {
    const created = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    try {
      await link(temporary, target);
      return created !== undefined;
    } catch (error) {
      // `remove` of another output may have taken the empty folder away in between.
      if (codeOf(error) !== 'ENOENT' || attempt === attempts) throw error;
    }
  }
}

/** A write may take only a part, most of all on a disk that is nearly full. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0;
  while (written < chunk.length) {
    written += (await handle.write(chunk, written, chunk.length - written)).bytesWritten;
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** The same failure in words that say what to do; the code stays. */
function explain(error: unknown): Error {
  const code = codeOf(error);
  const message = {
    ENOSPC: 'the storage is full: free space or enlarge it; the file is fetched again',
    EDQUOT: 'the storage quota is used up: raise it or free space; the file is fetched again',
    EEXIST: 'a file is already stored under this path: each attempt needs a path of its own',
  }[code ?? ''];
  return Object.assign(new Error(message ?? 'the file cannot be stored', { cause: error }), { code });
}
