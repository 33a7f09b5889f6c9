import {
  DeleteObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { StorageError } from './failures.ts';
import { type S3Access, within } from './s3-access.ts';
import { explainS3Error, isMissing } from './s3-errors.ts';
import { readObject } from './s3-read.ts';
import { PROBES, removeLeftovers } from './s3-leftovers.ts';

/** A probe costs five calls and, in a versioned bucket, two versions: in between, and without a failure, one call asks. */
const PROBE_EVERY_MS = 600_000;
const CLEAN_EVERY_MS = 3_600_000;
const PROBE_MS = 30_000;
const ADVICE =
  'the server does not keep to S3: it must refuse a second object under a key (If-None-Match: *)';

export interface S3Check {
  /** @throws StorageError that says what to do. Calls that come while one runs share it */
  check(): Promise<void>;
  /** A file could not be stored: the next check tries everything again. */
  doubt(): void;
  /** Before a file is fetched after a failure: whether it can be stored at all. */
  assertUndoubted(): Promise<void>;
}

export function createS3Check(s3: S3Access, nowMs: () => number): S3Check {
  let running: Promise<void> | undefined;
  let probedAtMs = Number.NEGATIVE_INFINITY;
  let cleanedAtMs = Number.NEGATIVE_INFINITY;
  let doubted = false;

  async function round(): Promise<void> {
    if (!doubted && nowMs() - probedAtMs < PROBE_EVERY_MS) return ask(s3);
    await probe(s3);
    [doubted, probedAtMs] = [false, nowMs()];
    if (nowMs() - cleanedAtMs < CLEAN_EVERY_MS) return;
    const cleaning = removeLeftovers(s3, nowMs());
    // At the start it must be allowed; later nobody waits for it, since readiness has little time.
    if (cleanedAtMs === Number.NEGATIVE_INFINITY) await cleaning;
    else cleaning.catch(() => {});
    cleanedAtMs = nowMs();
  }

  function check(): Promise<void> {
    running ??= round()
      .catch((error: unknown) => {
        const { message, code, cause } = explainS3Error(error, s3, 's3:ListBucket');
        throw new StorageError(`the storage ${s3.root} cannot be used: ${message}.`, code, cause);
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  return {
    check,
    doubt() {
      doubted = true;
    },
    async assertUndoubted() {
      if (doubted) await check();
    },
  };
}

/** Whether the bucket is there and open to us. */
async function ask(s3: S3Access): Promise<void> {
  try {
    await s3.client.send(new HeadBucketCommand({ Bucket: s3.bucket }), within(PROBE_MS));
  } catch (error) {
    throw isMissing(error) ? missingBucket(s3, error) : error;
  }
}

/** The answer to HEAD has no body, so no code. */
function missingBucket(s3: S3Access, cause: unknown): StorageError {
  const named = Object.assign(new Error('no bucket', { cause }), { name: 'NoSuchBucket' });
  return explainS3Error(named, s3, 's3:ListBucket');
}

/** Does what storing, reading, listing and removing a file do. */
async function probe(s3: S3Access): Promise<void> {
  const { client, bucket: Bucket } = s3;
  const Key = s3.key(`${PROBES}${randomUUID()}`);
  const allowed = <T>(action: string, call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw explainS3Error(error, s3, action);
    });
  const put = () =>
    client.send(new PutObjectCommand({ Bucket, Key, Body: 'probe', IfNoneMatch: '*' }), within(PROBE_MS));

  await allowed('s3:PutObject', put());
  try {
    await allowed('s3:PutObject', put()).then(
      () => {
        throw new StorageError(ADVICE, 'NotImplemented', null);
      },
      (error: StorageError) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
    await readProbe(s3, Key);
    const list = new ListObjectsV2Command({ Bucket, Prefix: Key, MaxKeys: 1 });
    await allowed('s3:ListBucket', client.send(list, within(PROBE_MS)));
  } finally {
    await allowed('s3:DeleteObject', client.send(new DeleteObjectCommand({ Bucket, Key }), within(PROBE_MS)));
  }
}

async function readProbe(s3: S3Access, key: string): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await readObject(s3, key, { idleMs: PROBE_MS })) ?? []) chunks.push(chunk);
  if (Buffer.concat(chunks).toString() !== 'probe')
    throw new StorageError('the server does not give back what it has taken: use another', 'unknown', null);
}
