import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { openSecret, sealSecret } from '../../src/domain/sealed-secret.ts';

const entry = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const ring = (...entries: string[]) => parseKeyring(entries.join(','));
const RING = ring(entry('k1', 1));
const PURPOSE = 'webhook:whe_a';
const SECRET = Buffer.from('whsec_of this endpoint alone');

describe('a sealed secret', () => {
  it('opens to the same bytes, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (secret, purpose) => {
        const sealed = sealSecret(RING, secret, purpose);
        expect(sealed.keyId).toBe('k1');
        expect(openSecret(RING, sealed, purpose)).toEqual(Buffer.from(secret));
      }),
    );
  });

  it('shows nothing of it, and is another text each time', () => {
    const [first, second] = [sealSecret(RING, SECRET, PURPOSE), sealSecret(RING, SECRET, PURPOSE)];
    expect(first.sealed.equals(second.sealed)).toBe(false);
    expect(first.sealed.includes(SECRET.subarray(0, 6))).toBe(false);
    // No counter, so the first 12 bytes must never come twice.
    const ivs = Array.from({ length: 200 }, () =>
      sealSecret(RING, SECRET, PURPOSE).sealed.toString('hex', 0, 12),
    );
    expect(new Set(ivs).size).toBe(200);
  });

  it('any byte changed, taken out or put in: null', () => {
    const { sealed, keyId } = sealSecret(RING, SECRET, PURPOSE);
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const changed = Buffer.from(sealed);
        changed[at] = changed[at]! ^ bits;
        const shorter = Buffer.concat([sealed.subarray(0, at), sealed.subarray(at + 1)]);
        const longer = Buffer.concat([sealed.subarray(0, at), Buffer.from([bits]), sealed.subarray(at)]);
        for (const bytes of [changed, shorter, longer, sealed.subarray(0, at)]) {
          expect(openSecret(RING, { sealed: bytes, keyId }, PURPOSE)).toBeNull();
        }
      }),
    );
  });

  it('for another purpose: null, so that no row opens another’s', () => {
    const sealed = sealSecret(RING, SECRET, PURPOSE);
    for (const purpose of ['', 'webhook:whe_b', `${PURPOSE} `]) {
      expect(openSecret(RING, sealed, purpose)).toBeNull();
    }
  });

  it('under every key of the ring, by its id; under no other', () => {
    const old = sealSecret(RING, SECRET, PURPOSE);
    const rotated = ring(entry('k2', 2), entry('k1', 1));
    expect(openSecret(rotated, old, PURPOSE)).toEqual(SECRET);
    const fresh = sealSecret(rotated, SECRET, PURPOSE);
    expect(fresh.keyId).toBe('k2');
    expect(openSecret(RING, fresh, PURPOSE)).toBeNull();
    expect(openSecret(rotated, { ...fresh, keyId: 'k1' }, PURPOSE)).toBeNull();
    expect(openSecret(ring(entry('k1', 9)), old, PURPOSE)).toBeNull();
  });
});
