import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFilesystemStorage } from './filesystem.ts';
import { createS3Storage } from './s3.ts';
import { parseS3Url } from './s3-url.ts';
import type { Storage } from './types.ts';

export { createScan } from './scan.ts';
export { parseScanCommand } from './scan-command.ts';
export type { ScanConfig } from './scan-result.ts';
export { createMediaCheck, type MediaCheck, type MediaVerdict } from './sniff.ts';
export { StorageError } from './failures.ts';
export type * from './types.ts';

/**
 * The storage that STORAGE_URL names: `file:` with an absolute path (`file:///srv/darkroom`) or one relative to the
 * working folder (`file:./data`), where spaces may stand as they are or as `%20`; or
 * `s3://bucket/prefix?region=…&endpoint=https://…&path_style=true`. Anything else throws. Reaches for nothing yet.
 */
export function createStorage(storageUrl: string): Storage {
  if (/^s3:/i.test(storageUrl)) return createS3Storage(parseS3Url(storageUrl));
  if (/^file:/i.test(storageUrl)) return createFilesystemStorage(folderOf(storageUrl.slice('file:'.length)));
  throw new Error(
    `STORAGE_URL has an unsupported form (${schemeOf(storageUrl)}): write file:./data, file:///srv/darkroom or s3://bucket/prefix?region=eu-west-1.`,
  );
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
