import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apiKeyMatches, makeApiKey, parseApiKey } from '../../src/domain/api-key.ts';

describe('API keys', () => {
  it('are dk_, 16 characters of id, at least 160 bits of secret and 6 of checksum', () => {
    const key = makeApiKey();
    expect(key.text).toMatch(/^dk_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$/);
    expect(32 * Math.log2(62)).toBeGreaterThan(160);
    expect(key.text.slice(3, 19)).toBe(key.id);
    expect(key.sha256.equals(createHash('sha256').update(key.text).digest())).toBe(true);
    expect(new Set(Array.from({ length: 500 }, () => makeApiKey().text)).size).toBe(500);
  });

  it('are read back, and every single wrong character is found offline', () => {
    const { text, id, sha256 } = makeApiKey();
    expect(parseApiKey(text)).toEqual({ id, sha256 });
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'x' ? 'y' : 'x';
      expect(parseApiKey(`${text.slice(0, at)}${other}${text.slice(at + 1)}`)).toBeNull();
    }
    for (const bad of ['', 'dk_', text.slice(0, -1), `${text}a`, ` ${text}`, `${text}\n`]) {
      expect(parseApiKey(bad)).toBeNull();
    }
  });

  it('has the checksum of a known key', () => {
    const body = `dk_${'A'.repeat(16)}_${'b'.repeat(32)}`;
    // CRC32 of the body in base62, computed with Python's zlib.
    expect(parseApiKey(`${body}2UPCSE`)?.id).toBe('A'.repeat(16));
  });

  it('match their own hash only', () => {
    const [one, other] = [makeApiKey(), makeApiKey()];
    expect(apiKeyMatches(one, one.sha256)).toBe(true);
    expect(apiKeyMatches(one, other.sha256)).toBe(false);
    expect(apiKeyMatches(one, one.sha256.subarray(0, 31))).toBe(false);
  });
});
