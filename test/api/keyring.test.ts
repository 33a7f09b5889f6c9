import { createHmac, hkdfSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deriveKey, makeCallbackToken, parseKeyring, verifyCallbackToken } from '../../src/domain/keyring.ts';

const base64 = (byte: number, bytes = 32) => Buffer.alloc(bytes, byte).toString('base64');
const SUBMISSION = 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1';

describe('parseKeyring', () => {
  it('reads keys in order, the first one current', () => {
    const { keys } = parseKeyring(`new:${base64(1)}, old:${base64(2, 48)}`);
    expect(keys.map(({ id, bytes }) => [id, bytes.length])).toEqual([
      ['new', 32],
      ['old', 48],
    ]);
  });

  it.each([
    ['', /entry 1 is not id:base64/],
    ['k1', /entry 1/],
    [`k1:${base64(1, 31)}`, /entry 1 decodes to 31 bytes/],
    [`k1:${base64(1)},`, /entry 2/],
    [`k1:${base64(1)},k1:${base64(2)}`, /twice/],
    [`k 1:${base64(1)}`, /entry 1/],
    [Array.from({ length: 17 }, (_, i) => `k${i}:${base64(i)}`).join(','), /more than 16/],
  ])('refuses %#', (text, message) => {
    expect(() => parseKeyring(text)).toThrow(message);
  });

  it('never shows a key in its error', () => {
    const short = base64(7, 20);
    expect(() => parseKeyring(`k1:${short}`)).toThrow(
      /^entry 1 decodes to 20 bytes: at least 32 random bytes are needed$/,
    );
  });
});

describe('callback tokens', () => {
  const ring = parseKeyring(`k1:${base64(1)}`);

  it('are the submission id and an HMAC-SHA256 under a key derived for this purpose', () => {
    const key = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 1), '', 'darkroom/callback-token', 32));
    const mac = createHmac('sha256', key).update(SUBMISSION).digest('base64url');
    expect(makeCallbackToken(ring, SUBMISSION)).toEqual({ token: `${SUBMISSION}.${mac}`, keyId: 'k1' });
    expect(deriveKey(ring.keys[0], 'output-link').equals(key)).toBe(false);
  });

  it('verify under any key of the ring, and under no other', () => {
    const { token } = makeCallbackToken(ring, SUBMISSION);
    expect(verifyCallbackToken(ring, token)).toBe(SUBMISSION);
    expect(verifyCallbackToken(parseKeyring(`k2:${base64(2)},k1:${base64(1)}`), token)).toBe(SUBMISSION);
    expect(verifyCallbackToken(parseKeyring(`k1:${base64(2)}`), token)).toBeNull();
  });

  it('WHI-19 refuses every other text', () => {
    const { token } = makeCallbackToken(ring, SUBMISSION);
    const other = SUBMISSION.replace('_1', '_2');
    const bad = [
      '',
      '.',
      SUBMISSION,
      `${SUBMISSION}.`,
      token.replace(SUBMISSION, other),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      `${token}.`,
      token.toUpperCase(),
      `x.${token}`,
      'a'.repeat(1_000_000),
    ];
    for (let at = SUBMISSION.length + 1; at < token.length; at++) {
      bad.push(`${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`);
    }
    expect(bad.filter((text) => verifyCallbackToken(ring, text) !== null)).toEqual([]);
  });
});
