import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { SUBMISSION_ID } from './submission-id.ts';

/** One master key of the ring. */
export interface RingKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Master keys, the current one first; the others only verify and decrypt what was made under them. */
export interface Keyring {
  readonly keys: readonly [RingKey, ...RingKey[]];
}

/** One purpose, one derived key, so that a leak of one use says nothing about another. */
export type KeyPurpose =
  | 'callback-token'
  | 'callback-secret'
  | 'output-link'
  | 'watch-token'
  | 'secret-at-rest'
  | 'temporal-payload';

const ENTRY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]+={0,2})$/;
const MIN_KEY_BYTES = 32;
const MAX_KEYS = 16;
const MAX_TOKEN_LENGTH = 128;

/**
 * Reads KEYRING: `id:base64(32 bytes)[,id:base64]`, current key first.
 * @throws an Error that says which entry (by its place, never its text) is wrong and what to do.
 */
export function parseKeyring(text: string): Keyring {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > MAX_KEYS) throw new Error(`has more than ${MAX_KEYS} keys: remove retired ones`);
  const [current, ...retired] = entries.map((entry, index) => parseEntry(entry, index + 1));
  const keys: Keyring['keys'] = [current!, ...retired];
  if (new Set(keys.map((key) => key.id)).size < keys.length) {
    throw new Error('names one key id twice: every key needs its own id');
  }
  return { keys };
}

function parseEntry(entry: string, place: number): RingKey {
  const [, id, base64] = ENTRY.exec(entry) ?? [];
  if (id === undefined || base64 === undefined) {
    throw new Error(
      `entry ${place} is not id:base64: write for example k1:$(head -c 32 /dev/urandom | base64), first key is current`,
    );
  }
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < MIN_KEY_BYTES) {
    throw new Error(
      `entry ${place} decodes to ${bytes.length} bytes: at least ${MIN_KEY_BYTES} random bytes are needed`,
    );
  }
  return { id, bytes };
}

/** By ring key and purpose: one page of a list signs twenty links. */
const derived = new WeakMap<RingKey, Map<KeyPurpose, Buffer>>();

/** The 32-byte key for one purpose, by HKDF-SHA256 (RFC 5869) from one ring key. Shared: not to be written to. */
export function deriveKey(key: RingKey, purpose: KeyPurpose): Buffer {
  let ofKey = derived.get(key);
  if (ofKey === undefined) derived.set(key, (ofKey = new Map<KeyPurpose, Buffer>()));
  let bytes = ofKey.get(purpose);
  if (bytes === undefined) {
    bytes = Buffer.from(hkdfSync('sha256', key.bytes, Buffer.alloc(0), `darkroom/${purpose}`, 32));
    ofKey.set(purpose, bytes);
  }
  return bytes;
}

function tokenMac(key: RingKey, submissionId: string): Buffer {
  return createHmac('sha256', deriveKey(key, 'callback-token')).update(submissionId).digest();
}

/** `{submission id}.{base64url HMAC-SHA256}` under the current key; not stored, the key id is. */
export function makeCallbackToken(
  keyring: Keyring,
  submissionId: string,
): { readonly token: string; readonly keyId: string } {
  const [current] = keyring.keys;
  return {
    token: `${submissionId}.${tokenMac(current, submissionId).toString('base64url')}`,
    keyId: current.id,
  };
}

/**
 * The secrets with which the callbacks of one submission may be signed, where a provider is told one with each submit: 43
 * characters of base64url for every ring key, the current one's first. Not stored, like the token.
 */
export function callbackSecrets(
  keyring: Keyring,
  submissionId: string,
): readonly [string, ...(readonly string[])] {
  const [current, ...retired] = keyring.keys.map((key) =>
    createHmac('sha256', deriveKey(key, 'callback-secret')).update(submissionId).digest('base64url'),
  );
  return [current!, ...retired];
}

/** The submission that the token was made for, or null; tries every ring key in constant time, reads nothing. */
export function verifyCallbackToken(keyring: Keyring, token: string): string | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const dot = token.indexOf('.');
  const submissionId = token.slice(0, Math.max(0, dot));
  const presented = Buffer.from(token.slice(dot + 1), 'base64url');
  // One byte string has one spelling only: base64url decoding itself is lax.
  if (!SUBMISSION_ID.test(submissionId) || presented.toString('base64url') !== token.slice(dot + 1))
    return null;
  let matches = false;
  for (const key of keyring.keys) {
    const expected = tokenMac(key, submissionId);
    matches = (presented.length === expected.length && timingSafeEqual(presented, expected)) || matches;
  }
  return matches ? submissionId : null;
}
