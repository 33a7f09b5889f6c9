import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { makeCallbackToken, parseKeyring, type Keyring } from '../../src/domain/keyring.ts';
import { makeWatchToken, verifyWatchToken } from '../../src/domain/watch-token.ts';

const ring = (...keys: [id: string, byte: number][]): Keyring =>
  parseKeyring(keys.map(([id, byte]) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`).join(','));

const keyring = ring(['k1', 1]);
const deadlineAt = '2026-11-29T12:00:00.500Z';
/** An hour after the deadline, in whole seconds. */
const END_MS = Date.parse('2026-11-29T13:00:00.000Z');
const generation = { tenantId: newId('ten'), id: newId('gen'), deadlineAt };
const token = makeWatchToken(keyring, generation, 0)!;

const verify = (text: string, id = generation.id, nowMs = 0, under = keyring) =>
  verifyWatchToken(under, text, id, nowMs);

describe('a watch token', () => {
  it('opens its generation until an hour after the deadline, and is not made after it', () => {
    expect(verify(token)).toBe(generation.tenantId);
    expect(verify(token, generation.id, END_MS - 1)).toBe(generation.tenantId);
    expect(verify(token, generation.id, END_MS)).toBeNull();
    expect(makeWatchToken(keyring, generation, END_MS - 1)).toBe(token);
    expect(makeWatchToken(keyring, generation, END_MS)).toBeNull();
  });

  it('opens no other generation', () => {
    expect(verify(token, newId('gen'))).toBeNull();
    expect(verify(token, '')).toBeNull();
  });

  it('every part of it is signed', () => {
    const [form, expires, tenantId, mac] = token.split('.') as [string, string, string, string];
    const forged = [
      [form, String(Number(expires) + 1), tenantId, mac],
      [form, expires, newId('ten'), mac],
      [form, expires, tenantId, Buffer.alloc(32).toString('base64url')],
      [form, expires, tenantId, `${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`],
    ];
    for (const parts of forged) expect(verify(parts.join('.'))).toBeNull();
  });

  it('has one spelling, and nothing else is read', () => {
    const [form, expires, tenantId, mac] = token.split('.') as [string, string, string, string];
    // The last character carries four bits of the MAC and two that decoding ignores.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(mac.at(-1)!);
    const respelled = `${mac.slice(0, -1)}${alphabet[last ^ 1]}`;
    expect(Buffer.from(respelled, 'base64url').equals(Buffer.from(mac, 'base64url'))).toBe(true);
    const odd = [
      `${form}.${expires}.${tenantId}.${respelled}`,
      `wt2.${expires}.${tenantId}.${mac}`,
      `${form}.0${expires}.${tenantId}.${mac}`,
      `${form}.NaN.${tenantId}.${mac}`,
      `${form}.${expires}.ten_x.${mac}`,
      `${form}.${expires}.${tenantId}.${mac}=`,
      `${form}.${expires}.${tenantId}.`,
      ` ${token}`,
      `${token}\n`,
      token.toUpperCase(),
      makeCallbackToken(keyring, `sub_${generation.id.slice(4)}_1`).token,
      '',
      'x'.repeat(10_000),
    ];
    for (const text of odd) expect(verify(text)).toBeNull();
  });

  it('a key that was rotated still verifies, one that left does not, and a key makes tokens for one purpose', () => {
    expect(verify(token, generation.id, 0, ring(['k2', 2], ['k1', 1]))).toBe(generation.tenantId);
    expect(verify(token, generation.id, 0, ring(['k2', 2]))).toBeNull();
    const fresh = makeWatchToken(ring(['k2', 2], ['k1', 1]), generation, 0)!;
    expect(verify(fresh)).toBeNull();
    expect(verify(fresh, generation.id, 0, ring(['k2', 2]))).toBe(generation.tenantId);
  });
});
