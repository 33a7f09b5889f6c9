import { createHmac } from 'node:crypto';
import { anyDigestMatches, isFreshTimestamp } from './signatures.ts';

const TOLERANCE_SECONDS = 300;
/** Limits on what an unverified sender can make us do. */
const MAX_HEADER_CHARACTERS = 4_096;
const MAX_SIGNATURES = 16;
/** The specification wants 24 to 64 bytes; a shorter key than this could be found by trying. */
const MIN_KEY_BYTES = 16;
const MAX_KEY_BYTES = 64;

/** The id is signed together with the text after it, so a dot in it would make the border ambiguous. */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;
const ENTRY = /^([^\s,]+),([^\s,]+)$/;
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/;
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** The HMAC key of a secret `whsec_<base64 of 16 to 64 bytes>`; null for any other text. */
function keyOf(secret: string): Buffer | null {
  const [, text] = SECRET.exec(secret.trim()) ?? [];
  if (text === undefined) return null;
  const key = Buffer.from(text, 'base64');
  return key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES ? key : null;
}

/** The 32 bytes of a signature in canonical base64; null for any other spelling. */
function digestOf(text: string): Buffer | null {
  if (!SIGNATURE.test(text)) return null;
  const digest = Buffer.from(text, 'base64');
  return digest.toString('base64') === text ? digest : null;
}

/** The `v1` signatures of a header `v1,<base64> v1,<base64> …`; other versions are left out, null = malformed. */
function parseSignatures(header: string | undefined): readonly Buffer[] | null {
  if (header === undefined || header.length > MAX_HEADER_CHARACTERS) return null;
  const entries = header.split(' ');
  if (entries.length > MAX_SIGNATURES) return null;
  const digests: Buffer[] = [];
  for (const entry of entries) {
    const [, version, text] = ENTRY.exec(entry) ?? [];
    if (version === undefined || text === undefined) return null;
    const digest = version === 'v1' ? digestOf(text) : null;
    if (digest !== null) digests.push(digest);
  }
  return digests;
}

/**
 * Verifies a message of Standard Webhooks 1.0.0 (reliability.md §2.1) over its raw bytes: HMAC-SHA256 of
 * `{webhook-id}.{webhook-timestamp}.{body}`, ±5 minutes. Stricter than the official JavaScript library: plain
 * seconds, canonical base64, no re-decoded body. Header names must be lower case; secrets in another form are passed over.
 * @returns the message's id, the same at every re-send; null = not verified.
 */
export function verifyStandardWebhook(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): string | null {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  const presented = parseSignatures(headers['webhook-signature']);
  if (presented === null || !ID.test(id) || !isFreshTimestamp(timestamp, TOLERANCE_SECONDS, nowMs))
    return null;
  const expected = secrets.flatMap((secret) => {
    const key = keyOf(secret);
    if (key === null) return [];
    return [createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody).digest()];
  });
  return anyDigestMatches(expected, presented) ? id : null;
}
