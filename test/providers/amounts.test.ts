import { describe, expect, test } from 'vitest';
import { decimalText, scaledText } from '../../src/providers/amounts.ts';

describe('decimalText', () => {
  test.each([
    [0.25, '0.25'],
    [0, '0'],
    [1e-7, '0.0000001'],
    [0.1 + 0.2, '0.3'],
    [100, '100'],
    ['0.25', '0.25'],
    ['000.10', '000.10'],
    ['999999999999.9999999999', '999999999999.9999999999'],
  ])('%s is %s', (amount, expected) => {
    expect(decimalText(amount)).toBe(expected);
  });

  test.each([
    -1,
    NaN,
    Infinity,
    1e13,
    '1e3',
    '-1',
    '',
    ' 1',
    '1.',
    '.5',
    '1,5',
    '0.00000000001',
    null,
    undefined,
    {},
  ])('%s is none', (amount) => {
    expect(decimalText(amount)).toBeNull();
  });
});

describe('scaledText', () => {
  test.each([
    ['12000000', '0.12'],
    [12_000_000, '0.12'],
    ['1', '0.00000001'],
    ['100000000', '1'],
    ['123456789', '1.23456789'],
    ['0', '0'],
    ['000100000000', '1'],
  ])('%s of eight places is %s', (units, expected) => {
    expect(scaledText(units, 8)).toBe(expected);
  });

  test.each(['', '-1', '1.5', '1e9', '9'.repeat(19), 1.5, -1, 2 ** 53, null, undefined])(
    '%s is none',
    (units) => {
      expect(scaledText(units, 8)).toBeNull();
    },
  );
});
