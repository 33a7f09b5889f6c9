import { FAILURE_TEXTS, StorageError } from './failures.ts';
import type { S3Access } from './s3-access.ts';

/** What is known of a failure of the SDK: the service's code is its name. */
interface Facts {
  readonly code: string;
  readonly status: number | null;
}

const CREDENTIALS =
  'AWS does not know or accept the credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN) that are valid now';
const FULL = new Set([
  'QuotaExceeded',
  'XMinioAdminBucketQuotaExceeded',
  'XMinioStorageFull',
  'InsufficientStorage',
]);
const GONE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'TimeoutError',
  'AbortError',
]);

const CHANGED = 'the bytes were changed on their way: the file is fetched again';

const TEXTS: Readonly<Record<string, (s3: S3Access) => string>> = {
  NoSuchBucket: ({ bucket }) => `there is no bucket ${bucket}: create it, or correct its name in STORAGE_URL`,
  InvalidBucketName: ({ bucket }) => `${bucket} is no name of a bucket: correct it in STORAGE_URL`,
  CredentialsProviderError: () =>
    'no credentials are found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role',
  InvalidAccessKeyId: () => CREDENTIALS,
  SignatureDoesNotMatch: () => CREDENTIALS,
  ExpiredToken: () => CREDENTIALS,
  InvalidToken: () => CREDENTIALS,
  RequestTimeTooSkewed: () => "this machine's clock is wrong: let it keep time by NTP",
  PreconditionFailed: () => FAILURE_TEXTS.exists,
  ConditionalRequestConflict: () => FAILURE_TEXTS.exists,
  BadDigest: () => CHANGED,
  XAmzContentChecksumMismatch: () => CHANGED,
  XAmzContentSHA256Mismatch: () => CHANGED,
  NotImplemented: () =>
    'the server lacks a function of S3 that is needed here: use another, or a newer version',
};

/** The code of the service, or of Node.js where no answer came; `unknown` without one. */
export function s3Facts(error: unknown): Facts {
  if (!(error instanceof Error)) return { code: 'unknown', status: null };
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const name = error.name === 'Error' || error.name === 'Unknown' ? null : error.name;
  return {
    code: typeof code === 'string' ? code : (name ?? 'unknown'),
    status: $metadata?.httpStatusCode ?? null,
  };
}

/** Whether the answer was that there is no such object (and not that there is no such bucket). */
export function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(s3Facts(error).code);
}

/**
 * The same failure in words that say what to do. A path that is taken has the code EEXIST, as in the file system; else the
 * code is the service's. `action` is the permission that the call needs, for example `s3:PutObject`.
 */
export function explainS3Error(error: unknown, s3: S3Access, action: string): StorageError {
  if (error instanceof StorageError) return error;
  const { code, status } = s3Facts(error);
  const text = TEXTS[code]?.(s3) ?? byKind(error, s3, action);
  // The SDK's own error holds the whole exchange, signature and all.
  const cause = Object.assign(new Error(error instanceof Error ? error.message : String(error)), {
    code,
    status,
  });
  return new StorageError(text, text === FAILURE_TEXTS.exists ? 'EEXIST' : code, cause);
}

function byKind(error: unknown, s3: S3Access, action: string): string {
  const { code, status } = s3Facts(error);
  const where = s3.settings.endpoint ?? 'S3';
  if (FULL.has(code) || status === 507) return FAILURE_TEXTS.full;
  if (
    status === 301 ||
    status === 307 ||
    code === 'AuthorizationHeaderMalformed' ||
    code === 'IllegalLocationConstraintException'
  ) {
    const region = regionOf(error);
    return `the bucket is in another region${region === null ? '' : `, ${region}`}: correct region= in STORAGE_URL, or AWS_REGION`;
  }
  if (error instanceof Error && error.message === 'Region is missing')
    return 'no region is set: add region= to STORAGE_URL, or set AWS_REGION';
  if (status === 401 || status === 403)
    return `access is denied: allow ${action} on ${s3.root} to these credentials`;
  if (GONE.has(code))
    return `${where} does not answer (${code}): check endpoint= and region= in STORAGE_URL, and the network`;
  if (/CERT|TLS|SSL/.test(code))
    return `the certificate of ${where} is not trusted (${code}): set NODE_EXTRA_CA_CERTS to its authority`;
  if (status === 412 || status === 409) return FAILURE_TEXTS.exists;
  if (status === 429 || (status ?? 0) >= 500)
    return `${where} is busy or has a fault (${status} ${code}): it is tried again`;
  return `${where} refuses the call (${status ?? 'no answer'} ${code})`;
}

/** Where AWS says the bucket is: in the error, or in the head of its answer. */
function regionOf(error: unknown): string | null {
  const { Region, $response } = error as {
    Region?: unknown;
    $response?: { headers?: Readonly<Record<string, string>> };
  };
  const region = Region ?? $response?.headers?.['x-amz-bucket-region'];
  return typeof region === 'string' && /^[a-z0-9-]{1,64}$/.test(region) ? region : null;
}
