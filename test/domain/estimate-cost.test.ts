import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costRuleSchema, type CostRule } from '../../src/domain/price-rule.ts';
import { estimateCost } from '../../src/domain/pricing.ts';

const cost = (per: CostRule['per'], amount: string, unit = 'USD') =>
  costRuleSchema.parse({ per, amount, unit });

describe('estimateCost', () => {
  it('is not known without a rule', () => {
    expect(estimateCost(null, { duration_seconds: 5 })).toBeNull();
  });

  it.each([
    ['second', '0.05', { duration_seconds: 5 }, '0.25'],
    ['second', '0.05', { duration_seconds: 20 }, '1'],
    // In floating point 0.30000000000000004.
    ['second', '0.1', { duration_seconds: 3 }, '0.3'],
    ['second', '5', { duration_seconds: 10 }, '50'],
    ['second', '0.6', { duration_seconds: 5, count: 2 }, '6'],
    ['second', '007.50', { duration_seconds: 3 }, '22.5'],
    ['second', '0.05', { duration_seconds: 0 }, '0'],
    ['output', '0.003', {}, '0.003'],
    ['output', '0.003', { count: 4 }, '0.012'],
    ['output', '0.0000000001', { count: 3 }, '0.0000000003'],
    ['output', '0', { count: 4 }, '0'],
    ['output', '100', { count: 16 }, '1600'],
    ['output', '999999999999.9999999999', { count: 2 }, '1999999999999.9999999998'],
    ['thousand_characters', '20', { text: 'Your table is ready.' }, '0.4'],
    ['thousand_characters', '20', { text: '😀' }, '0.02'],
    ['thousand_characters', '0.0000012345', { text: 'x'.repeat(1_000) }, '0.0000012345'],
    // 0.0000000012345, cut to ten decimals.
    ['thousand_characters', '0.0000012345', { text: 'x' }, '0.0000000012'],
    ['thousand_characters', '0.0000000009', { text: 'x' }, '0'],
  ] as const)('per %s at %s with %j: %s', (per, amount, input, expected) => {
    expect(estimateCost(cost(per, amount), input)).toEqual({ amount: expected, unit: 'USD' });
  });

  it('keeps the unit of the provider', () => {
    expect(estimateCost(cost('output', '5', 'credits'), {})).toEqual({ amount: '5', unit: 'credits' });
  });

  it.each([
    ['second', 'duration_seconds'],
    ['thousand_characters', 'text'],
  ] as const)('per %s refuses to guess a missing %s', (per, field) => {
    expect(() => estimateCost(cost(per, '1'), {})).toThrow(`the price needs the input field "${field}"`);
  });

  it('is what adding the amount once a second and output gives, in the form that a rule has', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 14n),
        fc.nat(500),
        fc.integer({ min: 1, max: 16 }),
        (ten, s, count) => {
          const digits = ten.toString().padStart(11, '0');
          const amount = `${digits.slice(0, -10)}.${digits.slice(-10)}`;
          const estimate = estimateCost(cost('second', amount), { duration_seconds: s, count });
          expect(estimate?.amount).toMatch(/^(0|[1-9]\d*)(\.\d{0,9}[1-9])?$/);
          const [whole, fraction = ''] = estimate!.amount.split('.');
          expect(BigInt(whole! + fraction.padEnd(10, '0'))).toBe(ten * BigInt(s) * BigInt(count));
        },
      ),
    );
  });
});
