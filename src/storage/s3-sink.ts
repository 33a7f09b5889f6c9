import { HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import type { Sink } from './pending.ts';
import { type S3Access, within } from './s3-access.ts';
import { type PartUpload, startParts } from './s3-parts.ts';

const PART_BYTES = 8 * 1024 * 1024;
const HEAD_MS = 10_000;
/** Tells this attempt's object from any other. */
const WRITE = 'darkroom-write';

/** One object: one call up to 8 MiB, else parts of that size. Holds at most three parts in memory. */
export function createS3Sink(s3: S3Access, key: string): Sink {
  const { client, bucket: Bucket } = s3;
  const write = randomUUID();
  let part = Buffer.allocUnsafeSlow(PART_BYTES);
  let filled = 0;
  let parts: PartUpload | undefined;

  async function put(sha256: string): Promise<void> {
    const command = new PutObjectCommand({
      Bucket,
      Key: key,
      Body: part.subarray(0, filled),
      IfNoneMatch: '*',
      ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
      // For people who look at the bucket; a multipart upload is named before its sum is known.
      Metadata: { [WRITE]: write, 'darkroom-sha256': sha256 },
    });
    await client.send(command, within());
  }

  /** Where an answer is lost, the repeated call is refused because of our own object. */
  async function isOurs(): Promise<boolean> {
    const command = new HeadObjectCommand({ Bucket, Key: key });
    const head = await client.send(command, within(HEAD_MS)).catch(() => undefined);
    return head?.Metadata?.[WRITE] === write;
  }

  return {
    async write(chunk) {
      for (let at = 0; at < chunk.length;) {
        if (filled === PART_BYTES) {
          parts ??= startParts(s3, key, { [WRITE]: write });
          await parts.add(part);
          part = Buffer.allocUnsafeSlow(PART_BYTES);
          filled = 0;
        }
        const taken = Math.min(chunk.length - at, PART_BYTES - filled);
        part.set(chunk.subarray(at, at + taken), filled);
        filled += taken;
        at += taken;
      }
    },
    async publish(sha256) {
      try {
        if (parts === undefined) return await put(sha256);
        await parts.add(part.subarray(0, filled));
        await parts.complete();
      } catch (error) {
        if (!(await isOurs())) throw error;
      }
    },
    async clean() {
      await parts?.abort();
    },
  };
}
