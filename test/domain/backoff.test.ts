import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/domain/backoff.ts';

const series = { initialMs: 2_000, factor: 1.5, maxMs: 30_000 };

describe('backoffMs', () => {
  it('grows from the first delay to the longest', () => {
    expect([0, 1, 2, 6, 7, 1_000].map((n) => backoffMs(n, series, 0.5))).toEqual([
      2_000, 3_000, 4_500, 22_781, 30_000, 30_000,
    ]);
  });

  it('has a jitter of ten per cent to both sides', () => {
    expect(backoffMs(0, series, 0)).toBe(1_800);
    expect(backoffMs(0, series, 0.999_999)).toBe(2_200);
  });

  it('is a whole number within the jitter of its bounds, for any try', () => {
    fc.assert(
      fc.property(
        fc.nat(100_000),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, random) => {
          const ms = backoffMs(n, series, random);
          expect(Number.isSafeInteger(ms)).toBe(true);
          expect(ms).toBeGreaterThanOrEqual(1_800);
          expect(ms).toBeLessThanOrEqual(33_000);
        },
      ),
    );
  });
});
