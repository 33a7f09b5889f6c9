import { createHmac, timingSafeEqual } from 'node:crypto';

/** Limits on what an unverified sender can make us do. */
const MAX_HEADER_CHARACTERS = 4_096;
const MAX_SIGNATURES = 16;

/** A header `t=<unix s>,v1=<hex>[,v1=<hex>...]`, parsed; `timestamp` is kept as sent because it is signed as sent. */
export interface TimestampedSignatures {
  readonly timestamp: string;
  readonly signatures: readonly string[];
}

/**
 * Parses `t=…,v1=…[,v1=…]` strictly. Entries with another name are ignored (they are other schemes); null for
 * anything ambiguous: no or two timestamps, no signature, more than 16 of them, over 4 kB, white space.
 */
export function parseTimestampedSignatures(header: string | undefined): TimestampedSignatures | null {
  if (header === undefined || header.length > MAX_HEADER_CHARACTERS || /\s/.test(header)) return null;
  const entries = header.split(',').map((entry) => {
    const equals = entry.indexOf('=');
    return { name: entry.slice(0, Math.max(0, equals)), value: entry.slice(equals + 1) };
  });
  const timestamps = entries.filter((entry) => entry.name === 't');
  const signatures = entries.filter((entry) => entry.name === 'v1').map((entry) => entry.value);
  const [timestamp] = timestamps;
  if (timestamp === undefined || timestamps.length > 1) return null;
  if (signatures.length === 0 || signatures.length > MAX_SIGNATURES) return null;
  return { timestamp: timestamp.value, signatures };
}

/**
 * @returns true when `timestamp` is plain unix seconds within `toleranceSeconds` of `nowMs`, in both directions.
 * Written so that a NaN anywhere refuses.
 */
export function isFreshTimestamp(timestamp: string, toleranceSeconds: number, nowMs: number): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(nowMs - Number(timestamp) * 1_000) <= toleranceSeconds * 1_000;
}

/** Secrets that may be used at all: an HMAC under an empty key can be computed by anyone. */
export function usableSecrets(secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => secret.trim() !== '');
}

/** HMAC-SHA256 over the parts in order; the key's UTF-8 bytes as they stand. */
export function hmacSha256(key: string, parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Compares in constant time; false for different lengths. */
export function equalsConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** @returns the 32 bytes of a lower-case hex SHA-256 value, null for any other text. */
export function sha256FromLowerHex(text: string): Buffer | null {
  return /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, 'hex') : null;
}

/** Whether any expected digest is among the presented ones; always compares all, so that time tells nothing. */
export function anyDigestMatches(expected: readonly Uint8Array[], presented: readonly Uint8Array[]): boolean {
  let matches = false;
  for (const digest of expected) {
    for (const candidate of presented) matches = equalsConstantTime(digest, candidate) || matches;
  }
  return matches;
}
