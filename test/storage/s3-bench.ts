import { beforeAll, afterAll, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { createS3Driver, type S3DriverOptions } from '../../src/storage/s3-driver.ts';
import { parseS3Url } from '../../src/storage/s3-url.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { type Minio, s3Url, startMinio } from '../support/minio.ts';

export const PREFIX = 'some/where';

/** A bucket for one test, and the driver before it with a proxy in between. */
export interface S3Bench {
  readonly bucket: string;
  readonly proxy: FaultProxy;
  readonly url: string;
  readonly driver: ReturnType<typeof createS3Driver>;
  readonly driverWith: (options: S3DriverOptions, url?: string) => ReturnType<typeof createS3Driver>;
  /** Paths below the prefix, and `upload:<key>`. */
  readonly everything: () => Promise<string[]>;
}

/** One MinIO for a test file, whose credentials are in the environment. */
export function useMinio(): { readonly server: () => Minio; readonly bench: () => Promise<S3Bench> } {
  let minio: Minio | undefined;
  const folder = temporaryFolder('minio');
  beforeAll(async () => {
    minio = await startMinio(folder.path);
    for (const [name, value] of Object.entries(minio.env)) vi.stubEnv(name, value);
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  }, 180_000);
  afterAll(async () => {
    await minio?.stop();
    await folder.remove();
  });
  const server = () => minio!;

  return {
    server,
    async bench() {
      const bucket = await server().newBucket();
      const proxy = await startFaultProxy(server().endpoint);
      onTestFinished(() => proxy.close());
      const url = s3Url(proxy.endpoint, bucket, PREFIX);
      const driverWith = (options: S3DriverOptions, at = url) => createS3Driver(parseS3Url(at), options);
      return {
        bucket,
        proxy,
        url,
        driver: driverWith({}),
        driverWith,
        async everything() {
          const found = await server().everything(bucket);
          return found.map((name) => name.replace(`${PREFIX}/`, ''));
        },
      };
    },
  };
}
