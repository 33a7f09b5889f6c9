import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { Readable } from 'node:stream';
import { StorageError } from './failures.ts';
import type { S3Access } from './s3-access.ts';
import { explainS3Error, isMissing, s3Facts } from './s3-errors.ts';

/** How long nobody may ask for the first byte; the connection is given back then. */
const UNCLAIMED_MS = 60_000;

interface ReadOptions {
  readonly idleMs: number;
  readonly range?: { readonly start: number; readonly end: number } | undefined;
}

/** The bytes of an object, or null when there is none; a range behind its end is empty. */
export async function readObject(
  s3: S3Access,
  key: string,
  { range, idleMs }: ReadOptions,
): Promise<AsyncIterable<Uint8Array> | null> {
  const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
  try {
    const { Body } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key: key, ...Range }));
    return Body === undefined ? nothing() : claim(s3, Body as Readable, idleMs);
  } catch (error) {
    if (isMissing(error)) return null;
    if (s3Facts(error).code === 'InvalidRange') return nothing();
    throw explainS3Error(error, s3, 's3:GetObject');
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function claim(s3: S3Access, body: Readable, idleMs: number): AsyncIterable<Uint8Array> {
  // A body that nobody reads, or that ends early, reports it to nobody.
  body.on('error', () => {});
  const unclaimed = setTimeout(() => body.destroy(), UNCLAIMED_MS).unref();
  return watched(s3, body, idleMs, () => clearTimeout(unclaimed));
}

/** Counts only the time that the server takes, not the reader's. */
async function* watched(
  s3: S3Access,
  body: Readable,
  idleMs: number,
  onFirst: () => void,
): AsyncGenerator<Uint8Array> {
  onFirst();
  let stalled = false;
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const timer = setTimeout(() => {
        stalled = true;
        body.destroy();
      }, idleMs);
      const next = await chunks.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (stalled)
      throw new StorageError(`the storage sent nothing for ${idleMs / 1_000} s`, 'ETIMEDOUT', null);
    throw explainS3Error(error, s3, 's3:GetObject');
  } finally {
    body.destroy();
  }
}
