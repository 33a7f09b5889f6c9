import { randomBytes } from 'node:crypto';

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** Crockford base32, lower case, of the given bytes (128 bits become 26 characters). */
function base32(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  const length = Math.ceil((bytes.length * 8) / 5);
  let text = '';
  for (let i = length - 1; i >= 0; i--) text += BASE32[Number((value >> BigInt(i * 5)) & 31n)];
  return text;
}

/** A UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, then random; so ids sort by creation. */
function uuidV7(nowMs: number): Uint8Array {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

/** A new sortable id, `<prefix>_` and 26 characters of base32 UUIDv7. */
export function newId(prefix: 'gen' | 'ten' | 'acc' | 'inp' | 'whe', nowMs: number = Date.now()): string {
  return `${prefix}_${base32(uuidV7(nowMs))}`;
}

/** The shape of a generation id; anything else is answered like an unknown id. */
export const GENERATION_ID = /^gen_[0-9a-hjkmnp-tv-z]{26}$/;

/** The shape of the id of a stored input. */
export const INPUT_ID = /^inp_[0-9a-hjkmnp-tv-z]{26}$/;

/** The shape of the id of a webhook endpoint. */
export const ENDPOINT_ID = /^whe_[0-9a-hjkmnp-tv-z]{26}$/;
