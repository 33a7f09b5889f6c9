import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type Keyring, type RingKey } from './keyring.ts';

/** A run may store its output for a while after its deadline; whoever watches sees that too. */
const AFTER_DEADLINE_MS = 3_600_000;
const FORM = /^wt1\.([1-9]\d{9,10})\.(ten_[0-9a-hjkmnp-tv-z]{26})\.([A-Za-z0-9_-]{43})$/;

/**
 * Lets a browser watch one generation: made at each answer, never stored; read-only, until an hour after its deadline.
 * Null when that is past.
 */
export function makeWatchToken(
  keyring: Keyring,
  generation: { readonly tenantId: string; readonly id: string; readonly deadlineAt: string },
  nowMs: number,
): string | null {
  const expires = Math.floor((Date.parse(generation.deadlineAt) + AFTER_DEADLINE_MS) / 1_000);
  if (expires * 1_000 <= nowMs) return null;
  const mac = sign(keyring.keys[0], generation.id, generation.tenantId, expires).toString('base64url');
  return `wt1.${expires}.${generation.tenantId}.${mac}`;
}

/** The tenant whose generation this token opens, or null: forged, for another generation, or over. Reads nothing. */
export function verifyWatchToken(
  keyring: Keyring,
  token: string,
  generationId: string,
  nowMs: number,
): string | null {
  const [, expires, tenantId, mac] = FORM.exec(token) ?? [];
  if (expires === undefined || tenantId === undefined || mac === undefined) return null;
  const presented = Buffer.from(mac, 'base64url');
  // One byte string has one spelling only: base64url decoding itself is lax.
  if (presented.toString('base64url') !== mac || Number(expires) * 1_000 <= nowMs) return null;
  const matches = keyring.keys
    .map((key) => timingSafeEqual(sign(key, generationId, tenantId, Number(expires)), presented))
    .includes(true);
  return matches ? tenantId : null;
}

function sign(key: RingKey, generationId: string, tenantId: string, expires: number): Buffer {
  return createHmac('sha256', deriveKey(key, 'watch-token'))
    .update(`${generationId}\n${tenantId}\n${expires}`)
    .digest();
}
