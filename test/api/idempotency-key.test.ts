import { describe, expect, it } from 'vitest';
import { parseIdempotencyKey } from '../../src/domain/http/idempotency-key.ts';

const keyOf = (...values: string[]) => {
  const result = parseIdempotencyKey(values);
  return result.ok ? { key: result.key } : result.problem;
};

describe('parseIdempotencyKey', () => {
  it.each([
    ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['8e03978e-40d5-43e8-bc93-6894a57f9324', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['abc-123', 'abc-123'],
    ['"a b"', 'a b'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['"a,b"', 'a,b'],
    ['order:1/2+3=!', 'order:1/2+3=!'],
    ['x', 'x'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('%s is a key', (header, key) => {
    expect(keyOf(header)).toEqual({ key });
  });

  it.each([
    ['', 'empty'],
    ['   ', 'empty'],
    ['""', 'empty'],
    ['"a", "b"', 'list'],
    ['a, b', 'list'],
    ['a,b', 'list'],
    ['é', 'characters'],
    ['"é"', 'characters'],
    ['a b', 'characters'],
    ['"a\tb"', 'characters'],
    ['"a\\x"', 'quoting'],
    ['"a', 'quoting'],
    ['a"', 'quoting'],
    ['"a";p=1', 'quoting'],
    ['a;p=1', 'quoting'],
    ['x'.repeat(256), 'too_long'],
    [`"${'x'.repeat(256)}"`, 'too_long'],
    ['x'.repeat(10_000), 'too_long'],
  ])('%s is %s', (header, problem) => {
    expect(keyOf(header)).toBe(problem);
  });

  it('no line is missing, two lines are repeated', () => {
    expect(keyOf()).toBe('missing');
    expect(keyOf('a', 'a')).toBe('repeated');
  });
});
