import { createHash, randomBytes } from 'node:crypto';

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

/** The first id that can have been made at this time or later, by the clock of whoever makes them. */
export function firstGenerationId(fromMs: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.max(fromMs, 0), 0, 6);
  return `gen_${base32(bytes)}`;
}

/** The id of the tenant that an operator makes under this idempotency key: the same at each repeat. */
export function tenantIdFor(idempotencyKey: string): string {
  return `ten_${base32(createHash('sha256').update(`tenant\n${idempotencyKey}`).digest().subarray(0, 16))}`;
}

/** The shape of the id of a tenant. */
export const TENANT_ID = /^ten_[0-9a-hjkmnp-tv-z]{26}$/;

/** The shape of a generation id; anything else is answered like an unknown id. */
export const GENERATION_ID = /^gen_[0-9a-hjkmnp-tv-z]{26}$/;

/** The shape of the id of a stored input. */
export const INPUT_ID = /^inp_[0-9a-hjkmnp-tv-z]{26}$/;

/** The shape of the id of a webhook endpoint. */
export const ENDPOINT_ID = /^whe_[0-9a-hjkmnp-tv-z]{26}$/;
