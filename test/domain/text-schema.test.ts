import { describe, expect, it } from 'vitest';
import { anyText, oneLine, PUBLIC_URL_PATTERN, writtenText } from '../../src/domain/text-schema.ts';

describe('texts', () => {
  it.each([
    ['', true, false, false],
    ['a', true, true, true],
    [' \t\n', true, false, false],
    ['\ufeff', true, false, false],
    [' a ', true, true, true],
    ['a\nb', true, true, false],
    ['\n\na', true, true, false],
    ['a\u0085', true, true, false],
    ['a\0b', false, false, false],
    ['\0', false, false, false],
    ['\u00a0a', true, true, true],
    ['😀'.repeat(5), true, true, true],
    ['😀'.repeat(6), false, false, false],
  ])('%j: any %s, written %s, one line %s', (text, any, written, line) => {
    expect(anyText(5).safeParse(text).success).toBe(any);
    expect(writtenText(5).safeParse(text).success).toBe(written);
    expect(oneLine(5).safeParse(text).success).toBe(line);
  });

  it('says what is wrong', () => {
    expect(anyText(1).safeParse('ab').error?.issues[0]?.message).toBe('Use at most 1 characters.');
    expect(anyText(1).safeParse('\0').error?.issues[0]?.message).toBe('Leave out the NUL character.');
    expect(oneLine(9).safeParse('a\tb').error?.issues[0]?.message).toBe(
      'Write 1 to 9 characters on one line.',
    );
  });

  it('is refused quickly, however long', () => {
    expect(writtenText(10).safeParse(' '.repeat(200_000)).success).toBe(false);
    expect(writtenText(10).safeParse(`${'a'.repeat(200_000)}\0`).success).toBe(false);
    expect(oneLine(10).safeParse(`${'a '.repeat(100_000)}\n`).success).toBe(false);
  });
});

describe('the pattern of public URLs', () => {
  it.each([
    ['https://example.com', true],
    ['https://example.com/a/b?c=d%20e&f', true],
    ['https://A-b.example.co.uk?x', true],
    ['http://example.com', false],
    ['https://localhost', false],
    ['https://a.localhost/x', false],
    ['https://127.0.0.1/', false],
    ['https://example.com:8443/', false],
    ['https://u:p@example.com/', false],
    ['https://example.com/#x', false],
    ['https://example.com/%zz', false],
    ['https://xn--zz.com/', false],
    ['https://a.xn--zz/', false],
    ['https://example.com/a b', false],
  ])('%s: %s', (url, fits) => {
    expect(new RegExp(`^${PUBLIC_URL_PATTERN}$`).test(url)).toBe(fits);
  });
});
