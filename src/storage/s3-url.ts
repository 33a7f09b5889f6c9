/** Where in S3 the files are; who may go there comes from the environment (AWS_ACCESS_KEY_ID, a role, …). */
export interface S3Settings {
  readonly bucket: string;
  /** Without slashes at its ends; '' = the whole bucket. */
  readonly prefix: string;
  /** undefined = AWS_REGION, or the AWS configuration file. */
  readonly region: string | undefined;
  /** Of a server that is not AWS, for example `https://minio.internal:9000`. */
  readonly endpoint: string | undefined;
  /** The bucket in the path, not in the host name; most servers other than AWS want it. */
  readonly pathStyle: boolean;
}

const EXAMPLE = 's3://bucket/prefix?region=eu-west-1';
const FORM = /^s3:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/is;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/;
const PARAMETERS = ['region', 'endpoint', 'path_style'];

/** Reads `s3://bucket/prefix?region=…&endpoint=https://…&path_style=true`. @throws Error that says what is wrong, without the text itself */
export function parseS3Url(storageUrl: string): S3Settings {
  const [, bucket = '', path = '', query = '', fragment] = FORM.exec(storageUrl) ?? [];
  if (/@/.test(bucket + path))
    throw new Error(
      'STORAGE_URL has credentials in it: take them out, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or give the machine a role).',
    );
  if (fragment !== undefined) throw new Error(`STORAGE_URL has a # in it: write ${EXAMPLE}.`);
  if (!BUCKET.test(bucket))
    throw new Error(
      `STORAGE_URL names no valid bucket (3 to 63 small letters, digits, dots and hyphens): write ${EXAMPLE}.`,
    );
  const prefix = path.replace(/^\/+|\/+$/g, '');
  if (prefix !== '' && (prefix.length > 256 || !prefix.split('/').every((part) => SEGMENT.test(part))))
    throw new Error(
      'STORAGE_URL has a prefix that is not letters, digits, ".", "_", "-" and single slashes (256 at most): choose another.',
    );
  const parameters = parametersOf(query);
  return {
    bucket,
    prefix,
    region: regionOf(parameters.get('region')),
    endpoint: endpointOf(parameters.get('endpoint')),
    pathStyle: pathStyleOf(parameters.get('path_style')),
  };
}

function parametersOf(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  const names = [...parameters.keys()];
  const unknown = names.filter((name) => !PARAMETERS.includes(name));
  if (unknown.length > 0)
    throw new Error(
      `STORAGE_URL has unknown parameters (${[...new Set(unknown)].map((name) => name.slice(0, 40)).join(', ')}): known are ${PARAMETERS.join(', ')}.`,
    );
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`STORAGE_URL has ${twice} more than once: keep one.`);
  return parameters;
}

function regionOf(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (/^[a-z0-9-]{1,64}$/.test(text)) return text;
  throw new Error('STORAGE_URL has a region that is none: write for example region=eu-west-1.');
}

function endpointOf(text: string | null): string | undefined {
  if (text === null) return undefined;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/';
  if (!isOrigin || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new Error(
      'STORAGE_URL has an endpoint that is not the origin of a server: write for example endpoint=https://minio.internal:9000, without user, path or query.',
    );
  return url.origin;
}

function pathStyleOf(text: string | null): boolean {
  if (text === null || text === 'false') return false;
  if (text === 'true') return true;
  throw new Error(
    'STORAGE_URL has a path_style that is neither true nor false: write path_style=true, or remove it.',
  );
}
