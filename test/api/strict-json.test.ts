import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/api/problems.ts';
import { parseStrictJson } from '../../src/api/strict-json.ts';

function codeOf(text: string | Uint8Array): string {
  try {
    parseStrictJson(typeof text === 'string' ? Buffer.from(text) : text);
    return 'taken';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

function pathOf(text: string): string | undefined {
  try {
    parseStrictJson(Buffer.from(text));
    return undefined;
  } catch (error) {
    return (error as Problem).options.errors?.[0]?.path;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('parseStrictJson', () => {
  it('takes what every reader understands alike', () => {
    const value = { a: [1, -2.5, 1e3, 0.1, true, false, null, 'é😊\u001b\\"/'], '': {}, b: { a: [] } };
    expect(parseStrictJson(Buffer.from(JSON.stringify(value, null, '\t')))).toEqual(value);
    expect(parseStrictJson(Buffer.from(' \r\n"\\ud83d\\ude0a" '))).toBe('😊');
    for (const number of [
      '0',
      '-0',
      '-1',
      '1.0',
      '1.10',
      '1E2',
      '1e-2',
      '9007199254740991',
      '5e-324',
      '0.000',
      '0e9',
    ]) {
      expect([number, codeOf(number)]).toEqual([number, 'taken']);
    }
  });

  it.each([
    ['1e400', 'unsafe_number'],
    ['-1e400', 'unsafe_number'],
    ['1e-400', 'unsafe_number'],
    ['9007199254740993', 'unsafe_number'],
    ['12345678901234567890', 'unsafe_number'],
    ['0.1000000000000000055', 'unsafe_number'],
    [`1.${'0'.repeat(40)}1`, 'unsafe_number'],
    [`1.${'0'.repeat(40)}`, 'taken'],
    [`10${'0'.repeat(20)}.50`, 'unsafe_number'],
    ['1000000000000000000000', 'taken'],
    ['-120.500e1', 'taken'],
    ['01', 'trailing_data'],
    ['1.', 'trailing_data'],
    ['+1', 'malformed_json'],
    ['.5', 'malformed_json'],
    ['NaN', 'malformed_json'],
    ['-', 'malformed_json'],
    ['-Infinity', 'malformed_json'],
    ["{'a':1}", 'malformed_json'],
    ['{"a":1,}', 'malformed_json'],
    ['[1,]', 'malformed_json'],
    ['[,1]', 'malformed_json'],
    ['[1 2]', 'malformed_json'],
    ['{"a" 1}', 'malformed_json'],
    ['{"a":1 "b":2}', 'malformed_json'],
    ['[}', 'malformed_json'],
    ['{]', 'malformed_json'],
    ['{"a":}', 'malformed_json'],
    ['{1:2}', 'malformed_json'],
    ['"a', 'malformed_json'],
    ['"\\x"', 'malformed_json'],
    ['"\\u12"', 'malformed_json'],
    ['"a\tb"', 'malformed_json'],
    ['"\\', 'malformed_json'],
    ['tru', 'malformed_json'],
    ['// no\n1', 'malformed_json'],
    ['\u00a01', 'malformed_json'],
    ['   ', 'malformed_json'],
    ['1 1', 'trailing_data'],
    ['{}{}', 'trailing_data'],
    ['{} x', 'trailing_data'],
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"__proto__":1}', 'forbidden_key'],
    ['{"\\u005f_proto__":1}', 'forbidden_key'],
    ['[{"constructor":{"prototype":1}}]', 'forbidden_key'],
    ['"\\u0000"', 'forbidden_character'],
    ['"\0"', 'forbidden_character'],
    ['{"a\\u0000":1}', 'forbidden_character'],
    ['"\\ud800"', 'lone_surrogate'],
    ['"\\udc00\\ud800"', 'lone_surrogate'],
    ['"\\ud83d😊"', 'lone_surrogate'],
    ['{"\\udfff":1}', 'lone_surrogate'],
    ['', 'empty_body'],
    ['\ufeff{}', 'byte_order_mark'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'too_deep'],
    [`${'['.repeat(32)}${']'.repeat(32)}`, 'taken'],
    ['{"a":'.repeat(100_000), 'too_deep'],
    ['['.repeat(500_000), 'too_deep'],
  ])('%j → %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it.each([
    [[0xff]],
    [[0x22, 0xc0, 0x80, 0x22]],
    [[0x22, 0xed, 0xa0, 0x80, 0x22]],
    [[0x7b, 0x00, 0x7d, 0xfe, 0xff]],
  ])('bytes %j are not UTF-8', (bytes) => {
    expect(codeOf(Uint8Array.from(bytes))).toBe('invalid_utf8');
  });

  it('names the place by a JSON pointer, with long names cut', () => {
    expect(pathOf('{"a":[0,{"b/c":1,"b/c":2}]}')).toBe('/a/1/b~1c');
    expect(pathOf('{"input":{"prompt":"\\u0000"}}')).toBe('/input/prompt');
    expect(pathOf(`{"${'k'.repeat(5_000)}":1e999}`)).toHaveLength(66);
  });

  it('agrees with JSON.parse on whatever it takes, and on what is no JSON', () => {
    const strict = new Set(['unsafe_number', 'forbidden_character', 'lone_surrogate', 'forbidden_key']);
    const ofJson = fc.check(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const code = codeOf(text);
        return code === 'taken'
          ? isDeepStrictEqual(parseStrictJson(Buffer.from(text)), JSON.parse(text))
          : strict.has(code);
      }),
    );
    const pieces = Array.from('{}[]",:01.e-\\ntu ');
    const ofNoise = fc.check(
      fc.property(fc.string({ unit: fc.constantFrom(...pieces) }), (text) => {
        const code = codeOf(text);
        if (code === 'taken') return isJson(text);
        return code === 'malformed_json' || code === 'trailing_data' ? !isJson(text) : true;
      }),
      { numRuns: 2_000 },
    );
    expect([ofJson.counterexample, ofNoise.counterexample]).toEqual([null, null]);
  });

  it('reads a megabyte in a few seconds of processor time at most, whatever is in it', () => {
    const texts = [
      JSON.stringify('\\"'.repeat(250_000)),
      `[${'1,'.repeat(500_000)}1]`,
      `[${'1.5,'.repeat(250_000)}1]`,
      `"${' '.repeat(1_000_000)}`,
      `1${'0'.repeat(1_000_000)}`,
      `1.${'0'.repeat(1_000_000)}`,
      `1.${'0'.repeat(1_000_000)}1`,
      `0.${'0'.repeat(500_000)}1${'0'.repeat(500_000)}1`,
      `1e${'0'.repeat(1_000_000)}1`,
      `[${`1.${'0'.repeat(1_000)},`.repeat(1_000)}1]`,
      `{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
    ];
    for (const text of texts) {
      const before = process.cpuUsage();
      codeOf(text);
      expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
    }
  });
});
