import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { createHash } from 'node:crypto';
import { FAILURE_TEXTS } from './failures.ts';
import { assertRange, assertStoragePath, isStoragePath } from './paths.ts';
import { createPendingFile } from './pending.ts';
import { openS3, within } from './s3-access.ts';
import { createS3Check } from './s3-check.ts';
import { explainS3Error } from './s3-errors.ts';
import { readObject } from './s3-read.ts';
import { createS3Sink } from './s3-sink.ts';
import type { S3Settings } from './s3-url.ts';
import type { Storage } from './types.ts';

const PRESIGN_MAX_SECONDS = 3_600;
const IDLE_MS = 30_000;

/** Replaced in tests only. */
export interface S3DriverOptions {
  readonly nowMs?: () => number;
  /** How long the server may send nothing while somebody waits for bytes. */
  readonly idleMs?: number;
}

/** The Storage port over the SDK; an object appears under its key only when it is whole, and never replaces another. */
export function createS3Driver(
  settings: S3Settings,
  { nowMs = Date.now, idleMs = IDLE_MS }: S3DriverOptions = {},
): Omit<Required<Storage>, 'locate'> {
  const s3 = openS3(settings);
  const { client, bucket: Bucket } = s3;
  const checks = createS3Check(s3, nowMs);
  const keyOf = (path: string): string => {
    assertStoragePath(path);
    return s3.key(path);
  };
  const explain =
    (action: string) =>
    (error: unknown): never => {
      throw explainS3Error(error, s3, action);
    };

  return {
    async create(path) {
      const key = keyOf(path);
      await checks.assertUndoubted();
      return createPendingFile(path, createS3Sink(s3, key), (error) => {
        const failure = explainS3Error(error, s3, 's3:PutObject');
        if (failure.code !== 'EEXIST') checks.doubt();
        return failure;
      });
    },
    async stat(path) {
      const body = await readObject(s3, keyOf(path), { idleMs });
      if (body === null) return null;
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of body) {
        hash.update(chunk);
        bytes += chunk.length;
      }
      return { bytes, sha256: hash.digest('hex') };
    },
    async read(path, range) {
      const key = keyOf(path);
      if (range !== undefined) assertRange(range);
      const body = await readObject(s3, key, { idleMs, range });
      if (body === null) throw new Error(FAILURE_TEXTS.missing);
      return body;
    },
    async *list(before) {
      const prefix = s3.key('');
      let ContinuationToken: string | undefined;
      do {
        const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken });
        const page = await client.send(command, within()).catch(explain('s3:ListBucket'));
        for (const { Key = '', LastModified } of page.Contents ?? []) {
          const path = Key.slice(prefix.length);
          if (isStoragePath(path) && LastModified !== undefined && LastModified < before) yield path;
        }
        ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      } while (ContinuationToken !== undefined);
    },
    async remove(path) {
      const command = new DeleteObjectCommand({ Bucket, Key: keyOf(path) });
      await client.send(command, within()).catch(explain('s3:DeleteObject'));
    },
    check: () => checks.check(),
    async presign(path, { expiresInSeconds, contentType, contentDisposition }) {
      const Key = keyOf(path);
      const whole = Number.isSafeInteger(expiresInSeconds);
      if (!whole || expiresInSeconds < 1 || expiresInSeconds > PRESIGN_MAX_SECONDS)
        throw new RangeError(`expiresInSeconds must be a whole number from 1 to ${PRESIGN_MAX_SECONDS}`);
      const command = new GetObjectCommand({
        Bucket,
        Key,
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition,
      });
      return getSignedUrl(client, command, { expiresIn: expiresInSeconds }).catch(explain('s3:GetObject'));
    },
  };
}
