import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Child, logTail, startChild, waitUntil } from '../../src/dev/child.ts';
import { resolveMinio } from '../../src/dev/minio-binary.ts';
import { freePorts } from '../../src/dev/ports.ts';

/** A real S3 server that a test may kill and start again at the same address. */
export interface Minio {
  readonly endpoint: string;
  /** AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of its owner. */
  readonly env: { readonly AWS_ACCESS_KEY_ID: string; readonly AWS_SECRET_ACCESS_KEY: string };
  readonly client: S3Client;
  newBucket(): Promise<string>;
  /** All that lies in a bucket: keys, and `upload:<key>` for what is not complete. */
  everything(bucket: string): Promise<string[]>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Resolving its program can take minutes, once for a machine: global-setup.ts has done it before. */
export async function startMinio(folder: string): Promise<Minio> {
  const command = await resolveMinio(process.env, (line) => process.stderr.write(`${line}\n`));
  const [port, consolePort] = await freePorts(2);
  const endpoint = `http://127.0.0.1:${port}`;
  const env = {
    AWS_ACCESS_KEY_ID: `test${randomBytes(8).toString('hex')}`,
    AWS_SECRET_ACCESS_KEY: randomBytes(20).toString('hex'),
  };
  const logFile = join(folder, 'minio.log');
  let child: Child;

  async function start(): Promise<void> {
    child = await startChild({
      name: 'MinIO',
      command,
      args: [
        'server',
        '--quiet',
        `--address=127.0.0.1:${port}`,
        `--console-address=127.0.0.1:${consolePort}`,
        join(folder, 'minio'),
      ],
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        MINIO_ROOT_USER: env.AWS_ACCESS_KEY_ID,
        MINIO_ROOT_PASSWORD: env.AWS_SECRET_ACCESS_KEY,
        MINIO_BROWSER: 'off',
        MINIO_UPDATE: 'off',
        MINIO_CALLHOME_ENABLE: 'off',
      },
      logFile,
    });
    const isReady = () =>
      fetch(`${endpoint}/minio/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
    if (await waitUntil(isReady, { timeoutMs: 120_000, stopped: () => !child.isRunning() })) return;
    await child.stop(0, 'SIGKILL');
    throw new Error(`MinIO did not start:\n${await logTail(logFile)}`);
  }
  await start();

  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY },
  });
  return {
    endpoint,
    env,
    client,
    async newBucket() {
      const Bucket = `test-${randomBytes(8).toString('hex')}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      return Bucket;
    },
    async everything(bucket) {
      const [objects, uploads] = await Promise.all([
        client.send(new ListObjectsV2Command({ Bucket: bucket })),
        client.send(new ListMultipartUploadsCommand({ Bucket: bucket })),
      ]);
      return [
        ...(objects.Contents ?? []).map(({ Key }) => `${Key}`),
        ...(uploads.Uploads ?? []).map(({ Key }) => `upload:${Key}`),
      ];
    },
    async kill() {
      await child.stop(0, 'SIGKILL');
    },
    start,
    async stop() {
      client.destroy();
      await child.stop(2_000);
    },
  };
}

/** STORAGE_URL for a bucket of it, or of a proxy before it. */
export function s3Url(endpoint: string, bucket: string, prefix = ''): string {
  const parameters = new URLSearchParams({ region: 'us-east-1', endpoint, path_style: 'true' });
  return `s3://${bucket}/${prefix}?${parameters.toString()}`;
}
