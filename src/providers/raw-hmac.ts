import { anyDigestMatches, hmacSha256, usableSecrets } from './signatures.ts';

const MAX_HEADER_CHARACTERS = 256;

/** How a signature over the raw body alone is written. */
export interface RawHmacScheme {
  /** Lower case. */
  readonly header: string;
  readonly encoding: 'hex' | 'base64';
}

function digestOf(text: string, encoding: RawHmacScheme['encoding']): Buffer | null {
  if (encoding === 'hex') return /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, 'hex') : null;
  const digest = Buffer.from(text, 'base64');
  return digest.length === 32 && digest.toString('base64') === text ? digest : null;
}

/**
 * Whether the header holds the HMAC-SHA256 of the raw body under one of the secrets (their UTF-8 bytes), bare or behind
 * `sha256=`. There is no time in it, so what verifies may be an old message sent again: it is a hint only.
 */
export function verifyRawHmac(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  { header, encoding }: RawHmacScheme,
): boolean {
  const value = headers[header];
  if (value === undefined || value.length > MAX_HEADER_CHARACTERS) return false;
  const presented = digestOf(value.replace(/^sha256=/, ''), encoding);
  if (presented === null) return false;
  const expected = usableSecrets(secrets).map((secret) => hmacSha256(secret, [rawBody]));
  return anyDigestMatches(expected, [presented]);
}
