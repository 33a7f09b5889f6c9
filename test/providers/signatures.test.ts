import { describe, expect, test } from 'vitest';
import {
  equalsConstantTime,
  hmacSha256,
  parseTimestampedSignatures,
  sha256FromLowerHex,
  usableSecrets,
} from '../../src/providers/signatures.ts';

describe('signature helpers', () => {
  test('RFC 4231 test case 2', () => {
    expect(hmacSha256('Jefe', ['what do ya want ', Buffer.from('for nothing?')]).toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  test('a header is parsed as sent, other schemes are left out', () => {
    expect(parseTimestampedSignatures('v0=x,t=017,v1=a,v1=b=c,note')).toEqual({
      timestamp: '017',
      signatures: ['a', 'b=c'],
    });
    expect(parseTimestampedSignatures('t=1')).toBeNull();
    expect(parseTimestampedSignatures('=,=')).toBeNull();
  });

  test('lengths that differ, hex that is none, secrets that are blank', () => {
    expect(equalsConstantTime(Buffer.from('a'), Buffer.from('ab'))).toBe(false);
    expect(equalsConstantTime(Buffer.from('ab'), Buffer.from('ab'))).toBe(true);
    expect(sha256FromLowerHex('zz'.repeat(32))).toBeNull();
    expect(usableSecrets(['', ' ', 's'])).toEqual(['s']);
  });
});
