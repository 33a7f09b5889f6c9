import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 16;
/** 32 characters of base62 carry 190 bits. */
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORM = /^dk_([0-9A-Za-z]{16})_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/;

/** What a key may do; every route names the one it asks for. */
export const SCOPES = ['generations', 'credits:grant', 'webhooks', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Public part, kept to look the key up; never secret. */
export interface ParsedApiKey {
  readonly id: string;
  readonly sha256: Buffer;
}

/** Uniform base62 text; bytes that would favour some characters are drawn again. */
function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

function checksum(text: string): string {
  let value = crc32(text);
  let encoded = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    encoded = `${BASE62[value % 62]}${encoded}`;
    value = Math.floor(value / 62);
  }
  return encoded;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The id of the key that an operator makes under this idempotency key: the same at each repeat; its secret is random. */
export function apiKeyIdFor(idempotencyKey: string): string {
  let value = BigInt(`0x${createHash('sha256').update(`key\n${idempotencyKey}`).digest('hex')}`);
  let id = '';
  for (let i = 0; i < ID_LENGTH; i++) {
    id += BASE62[Number(value % 62n)];
    value /= 62n;
  }
  return id;
}

/** The shape of the id of a key. */
export const API_KEY_ID = /^[0-9A-Za-z]{16}$/;

/** A new key: `text` is shown once and never stored, `id` and `sha256` are. */
export function makeApiKey(id: string = randomBase62(ID_LENGTH)): ParsedApiKey & { readonly text: string } {
  const body = `dk_${id}_${randomBase62(SECRET_LENGTH)}`;
  const text = `${body}${checksum(body)}`;
  return { id, sha256: sha256(text), text };
}

/** Form and CRC32 of a key, without any look-up; null when it can't be one of ours (a typo, a cut copy, a guess). */
export function parseApiKey(text: string): ParsedApiKey | null {
  const id = FORM.exec(text)?.[1];
  if (id === undefined) return null;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return checksum(body) === text.slice(-CHECKSUM_LENGTH) ? { id, sha256: sha256(text) } : null;
}

/** Whether the presented key is the stored one, in constant time. */
export function apiKeyMatches(presented: ParsedApiKey, storedSha256: Uint8Array): boolean {
  return storedSha256.length === presented.sha256.length && timingSafeEqual(presented.sha256, storedSha256);
}
