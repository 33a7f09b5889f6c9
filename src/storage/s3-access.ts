import { S3Client } from '@aws-sdk/client-s3';
import type { S3Settings } from './s3-url.ts';

const CONNECT_MS = 5_000;
/** From the start of one try to the head of its answer: a part of 8 MiB needs 140 kB/s. */
const TRY_MS = 60_000;
/** With all tries. */
const CALL_MS = 150_000;
/** Each slow reader of a file keeps one; those who find none wait for TRY_MS. */
/** More than streams of readers (services/file-delivery.ts), so that these never keep all from uploads and checks. */
const SOCKETS = 384;

/** One bucket and the client that reaches it. */
export interface S3Access {
  readonly settings: S3Settings;
  readonly client: S3Client;
  readonly bucket: string;
  /** What stands before a storage path or another name of ours. */
  readonly key: (name: string) => string;
  /** For people: `s3://bucket/prefix`. */
  readonly root: string;
}

/** Credentials come from the default chain of AWS: environment, configuration file, role of the machine. */
export function openS3(settings: S3Settings): S3Access {
  const { bucket, prefix, region, endpoint, pathStyle } = settings;
  const client = new S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    maxAttempts: 3,
    // We give SHA-256 sums ourselves, and hash what must be proved.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Else each part opens a connection of its own.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: TRY_MS,
      throwOnRequestTimeout: true,
      // It would count the time that a slow reader takes; s3-read.ts counts only the server's.
      socketTimeout: 0,
      httpAgent: { keepAlive: true, maxSockets: SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
    },
  });
  const key = (name: string) => (prefix === '' ? name : `${prefix}/${name}`);
  return { settings, client, bucket, key, root: `s3://${prefix === '' ? bucket : `${bucket}/${prefix}`}` };
}

/** The limit of one call with all its tries, and who may end it earlier. Not for reading a body, which may take longer. */
export function within(
  limitMs: number = CALL_MS,
  signal?: AbortSignal,
): { readonly abortSignal: AbortSignal } {
  const limit = AbortSignal.timeout(limitMs);
  return { abortSignal: signal === undefined ? limit : AbortSignal.any([limit, signal]) };
}
