import { link, mkdir, open, type FileHandle, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, FAILURE_TEXTS, StorageError } from './failures.ts';
import type { Sink } from './pending.ts';

/** What is used of `open` of node:fs/promises. */
export type OpenFile = (path: string, flags: string, mode: number) => Promise<FileHandle>;

export const FILE_MODE = 0o640;
export const FOLDER_MODE = 0o750;

interface NewFile {
  /** Where it will be; must be in the same file system as `temporary`. */
  readonly target: string;
  readonly temporary: string;
  readonly openFile: OpenFile;
}

/** Opens the temporary file. */
export async function createFileSink({ target, temporary, openFile }: NewFile): Promise<Sink> {
  const handle = await openFile(temporary, 'wx', FILE_MODE);
  return {
    write: (chunk) => writeAll(handle, chunk),
    async publish() {
      await handle.sync();
      await publish(temporary, target);
    },
    async clean() {
      await handle.close().catch(() => {});
      await rm(temporary, { force: true });
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
      if (codeOf(error) === 'EEXIST') throw new StorageError(FAILURE_TEXTS.exists, 'EEXIST', error);
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

const TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: FAILURE_TEXTS.full,
  EDQUOT: FAILURE_TEXTS.quota,
};

/** The same failure in words that say what to do; the code stays. */
export function explainFileError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = codeOf(error);
  return new StorageError(TEXTS[code ?? ''] ?? FAILURE_TEXTS.other, code, error);
}
