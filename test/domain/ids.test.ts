import { describe, expect, it } from 'vitest';
import { GENERATION_ID, newId } from '../../src/domain/ids.ts';

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** The 128 bits of an id, as hex, decoded here by other means than the source. */
function uuidOf(id: string): string {
  const bits = Array.from(id.slice(4), (c) => BASE32.indexOf(c).toString(2).padStart(5, '0')).join('');
  return BigInt(`0b${bits}`).toString(16).padStart(32, '0');
}

describe('newId', () => {
  it('is a UUIDv7 of the given time', () => {
    const nowMs = Date.UTC(2026, 10, 29, 12, 0, 0, 123);
    const uuid = uuidOf(newId('gen', nowMs));
    expect(parseInt(uuid.slice(0, 12), 16)).toBe(nowMs);
    expect(uuid[12]).toBe('7');
    expect(['8', '9', 'a', 'b']).toContain(uuid[16]);
  });

  it('has a prefix and 26 characters, and is never the same', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('gen', 1_700_000_000_000));
    expect(new Set(ids).size).toBe(1_000);
    expect(ids.every((id) => GENERATION_ID.test(id))).toBe(true);
    expect(newId('ten')).toMatch(/^ten_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it('sorts by time, to the end of its 48 bits', () => {
    const times = [0, 1, 1_700_000_000_000, 1_700_000_000_001, 2 ** 48 - 1];
    const ids = times.map((ms) => newId('inp', ms));
    expect(ids.toSorted()).toEqual(ids);
    expect(() => newId('inp', 2 ** 48)).toThrow(/out of range/);
  });

  it.each([
    'gen_',
    'gen_01jdzzzzzz000000000000000u',
    'gen_01jdzzzzzz00000000000000000',
    'GEN_01jdzzzzzz0000000000000000',
    `gen_${'0'.repeat(26)}\n`,
  ])('%j is no generation id', (text) => {
    expect(GENERATION_ID.test(text)).toBe(false);
  });
});
