import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import { isStoragePath } from './paths.ts';
import { type S3Access, within } from './s3-access.ts';
import { explainS3Error, s3Facts } from './s3-errors.ts';

/** Where the probes of check() are for a moment; no storage path begins so. */
export const PROBES = 'probe/';
const STALE_MS = 24 * 60 * 60 * 1000;
/** Of a thousand each; the rest comes with a later check. */
const PAGES = 20;

/** Removes what killed processes left a day ago and nobody sees: parts of uploads and probes; no attempt lives so long. */
export async function removeLeftovers(s3: S3Access, nowMs: number): Promise<void> {
  const isStale = (at: Date | undefined) => at !== undefined && nowMs - at.getTime() > STALE_MS;
  try {
    await abortUploads(s3, isStale);
  } catch (error) {
    // Not every server has it; those clean up themselves.
    if (s3Facts(error).code !== 'NotImplemented')
      throw explainS3Error(error, s3, 's3:ListBucketMultipartUploads and s3:AbortMultipartUpload');
  }
  await removeProbes(s3, isStale);
}

async function abortUploads(s3: S3Access, isStale: (at: Date | undefined) => boolean): Promise<void> {
  const { client, bucket: Bucket } = s3;
  const before = s3.key('');
  let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {};
  for (let page = 0; page < PAGES; page += 1) {
    // Without a prefix: MinIO answers to one only where it is a whole key.
    const list = new ListMultipartUploadsCommand({ Bucket, ...from });
    const { Uploads = [], IsTruncated, ...next } = await client.send(list, within());
    for (const { Key = '', UploadId, Initiated } of Uploads) {
      const isOurs = Key.startsWith(before) && isStoragePath(Key.slice(before.length));
      if (!isOurs || !isStale(Initiated)) continue;
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), within());
    }
    if (IsTruncated !== true) return;
    from = { KeyMarker: next.NextKeyMarker, UploadIdMarker: next.NextUploadIdMarker };
  }
}

async function removeProbes(s3: S3Access, isStale: (at: Date | undefined) => boolean): Promise<void> {
  const { client, bucket: Bucket } = s3;
  const list = new ListObjectsV2Command({ Bucket, Prefix: s3.key(PROBES) });
  const { Contents = [] } = await client.send(list, within());
  for (const { Key, LastModified } of Contents) {
    if (isStale(LastModified)) await client.send(new DeleteObjectCommand({ Bucket, Key }), within());
  }
}
