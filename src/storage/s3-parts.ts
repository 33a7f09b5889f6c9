import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
import { StorageError } from './failures.ts';
import { type S3Access, within } from './s3-access.ts';

const ON_THE_WAY = 2;
/** S3 takes no more. */
const MAX_PARTS = 10_000;
const ABORT_MS = 10_000;

export interface PartUpload {
  /** Sends the buffer, which is taken over, once fewer than two are on their way. @throws the failure of any part */
  add(part: Buffer): Promise<void>;
  /** Shows the object, unless there is one. */
  complete(): Promise<void>;
  /** Ends all calls and removes the parts; never throws, since check() removes later what stays. */
  abort(): Promise<void>;
}

/**
 * Ours and not the one of lib-storage: that one tells of a failed part only at the end of the stream, does not stop the
 * calls of an aborted upload, and gives no way to wait until its parts are removed.
 */
export function startParts(s3: S3Access, key: string, metadata: Record<string, string>): PartUpload {
  const { client, bucket: Bucket } = s3;
  const stop = new AbortController();
  const onTheWay = new Set<Promise<void>>();
  const parts: { PartNumber: number; ETag: string | undefined; ChecksumSHA256: string }[] = [];
  let count = 0;
  let failure: { readonly error: unknown } | undefined;
  let completed = false;

  const create = new CreateMultipartUploadCommand({
    Bucket,
    Key: key,
    ChecksumAlgorithm: 'SHA256',
    Metadata: metadata,
  });
  // Not ended by `stop`: an upload whose id we never learn can't be removed.
  const begun = client.send(create, within()).then(({ UploadId }) => UploadId);
  begun.catch(() => {});

  async function send(part: Buffer, PartNumber: number): Promise<void> {
    const ChecksumSHA256 = createHash('sha256').update(part).digest('base64');
    const UploadId = await begun;
    const command = new UploadPartCommand({
      Bucket,
      Key: key,
      UploadId,
      PartNumber,
      Body: part,
      ChecksumSHA256,
    });
    const { ETag } = await client.send(command, within(undefined, stop.signal));
    parts.push({ PartNumber, ETag, ChecksumSHA256 });
  }

  const throwFailure = () => {
    if (failure !== undefined) throw failure.error;
  };

  return {
    async add(part) {
      while (onTheWay.size >= ON_THE_WAY) await Promise.race(onTheWay);
      throwFailure();
      count += 1;
      if (count > MAX_PARTS)
        throw new StorageError('the file has more than 80 GB: S3 takes no more parts', 'EFBIG', null);
      const sent: Promise<void> = send(part, count)
        .catch((error: unknown) => {
          failure ??= { error };
          stop.abort();
        })
        .finally(() => onTheWay.delete(sent));
      onTheWay.add(sent);
    },
    async complete() {
      await Promise.all(onTheWay);
      throwFailure();
      const Parts = parts.toSorted((a, b) => a.PartNumber - b.PartNumber);
      const command = new CompleteMultipartUploadCommand({
        Bucket,
        Key: key,
        UploadId: await begun,
        IfNoneMatch: '*',
        MultipartUpload: { Parts },
      });
      await client.send(command, within());
      completed = true;
    },
    async abort() {
      if (completed) return;
      stop.abort();
      await Promise.all(onTheWay);
      const UploadId = await begun.catch(() => undefined);
      if (UploadId === undefined) return;
      const command = new AbortMultipartUploadCommand({ Bucket, Key: key, UploadId });
      await client.send(command, within(ABORT_MS)).catch(() => {});
    },
  };
}
