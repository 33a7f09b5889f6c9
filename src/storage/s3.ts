import { assertStoragePath } from './paths.ts';
import type { S3Settings } from './s3-url.ts';
import type { Storage } from './types.ts';

/** Outputs as objects of a bucket of S3, or of a server that speaks its protocol. */
export function createS3Storage(settings: S3Settings): Required<Storage> {
  let driver: Promise<Omit<Required<Storage>, 'locate'>> | undefined;
  // The SDK takes 0.2 s and 24 MB: only a process that uses S3 pays for it.
  const load = () => {
    driver ??= import('./s3-driver.ts').then(({ createS3Driver }) => createS3Driver(settings));
    return driver;
  };
  return {
    locate(path) {
      assertStoragePath(path);
      return `s3://${[settings.bucket, settings.prefix, path].filter((part) => part !== '').join('/')}`;
    },
    create: async (path) => (await load()).create(path),
    stat: async (path) => (await load()).stat(path),
    read: async (path, range) => (await load()).read(path, range),
    remove: async (path) => (await load()).remove(path),
    check: async () => (await load()).check(),
    presign: async (path, options) => (await load()).presign(path, options),
    async *list(before) {
      yield* (await load()).list(before);
    },
  };
}
