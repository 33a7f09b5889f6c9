import { describe, expect, test } from 'vitest';
import { parseRetryAfterMs } from '../../src/domain/retry-after.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 7);

describe('parseRetryAfterMs', () => {
  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5_000],
    ['999999999', 86_400_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
    ['Sun Nov  6 08:49:37 1994', 30_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['Tue, 06 Nov 2035 08:49:37 GMT', 86_400_000],
  ])('%s', (value, expected) => {
    expect(parseRetryAfterMs(value, NOW)).toBe(expected);
  });

  test.each([
    [undefined],
    [''],
    ['-1'],
    ['1.5'],
    ['5, 10'],
    ['1e3'],
    ['soon'],
    ['1994-11-06T08:49:37Z'],
    ['Sun, 06 Nov 1994 08:49:37 +0200'],
    ['Sun, 31 Feb 1994 08:49:37 GMT'],
    ['Sun, 06 Foo 1994 08:49:37 GMT'],
    ['Sun, 06 Nov 1994 25:49:37 GMT'],
    ['9'.repeat(400)],
  ])('%s is not one', (value) => {
    expect(parseRetryAfterMs(value, NOW)).toBeNull();
  });

  test('a two-digit year more than 50 years ahead is in the past', () => {
    expect(parseRetryAfterMs('Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(2026, 0, 1))).toBe(0);
  });
});
