import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFilesystemStorage } from './filesystem.ts';
import type { Storage } from './types.ts';

export { createMediaCheck, type MediaCheck, type MediaVerdict } from './sniff.ts';
export type * from './types.ts';

/**
 * The storage that STORAGE_URL names. Now supported: `file:` with an absolute path (`file:///srv/darkroom`) or one
 * relative to the working folder (`file:./data`); spaces may stand as they are or as `%20`. Anything else throws.
 */
export function createStorage(storageUrl: string): Storage {
  if (!/^file:/i.test(storageUrl)) {
    throw new Error(
      `STORAGE_URL has an unsupported form (${schemeOf(storageUrl)}): supported now is file:, for example file:./data or file:///srv/darkroom.`,
    );
  }
  return createFilesystemStorage(folderOf(storageUrl.slice('file:'.length)));
}

function folderOf(rest: string): string {
  if (/[?#]/.test(rest))
    throw new Error('STORAGE_URL has a bare ? or #: write %3F or %23 if they belong to the path.');
  let folder: string;
  try {
    folder = rest.startsWith('/') ? fileURLToPath(`file:${rest}`) : resolve(decodeURIComponent(rest));
  } catch (error) {
    throw new Error(
      'STORAGE_URL is not a valid file URL: write file:./folder or file:///folder, and a percent sign as %25.',
      { cause: error },
    );
  }
  if (rest === '' || folder === resolve('/') || folder.includes('\0')) {
    throw new Error('STORAGE_URL names no folder: write for example file:./data or file:///srv/darkroom.');
  }
  return folder;
}

/** Only the scheme is shown: the rest may hold a password. */
function schemeOf(text: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0] ?? 'no scheme';
}
