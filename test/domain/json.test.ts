import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/domain/json.ts';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** The same value with the keys of every object in another order. */
function shuffled(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shuffled);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value as JsonObject).toReversed();
  return Object.fromEntries(members.map(([key, member]) => [key, shuffled(member)]));
}

describe('canonicalJson', () => {
  it.each<[JsonValue, string]>([
    [
      { b: 1, a: { d: [2, { z: null, y: true }], c: 'x' } },
      '{"a":{"c":"x","d":[2,{"y":true,"z":null}]},"b":1}',
    ],
    [[3, 1, 2], '[3,1,2]'],
    [{ '10': 1, '9': 2, '': 3 }, '{"":3,"10":1,"9":2}'],
    [{ é: 1, z: 2, Z: 3 }, '{"Z":3,"z":2,"é":1}'],
    ['"\u0000\n\ud800', '"\\"\\u0000\\n\\ud800"'],
    [[], '[]'],
    [{}, '{}'],
    [null, 'null'],
    [-0, '0'],
    [1e21, '1e+21'],
  ])('%j', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('IDEM-4 equal values give equal text, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(shuffled(value as JsonValue))).toBe(canonicalJson(value as JsonValue));
      }),
    );
  });

  it('loses nothing: the text reads back as the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value as JsonValue))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('keeps an own member called __proto__ apart', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":2}') as JsonObject;
    expect(canonicalJson(value)).toBe('{"__proto__":{"a":1},"b":2}');
    expect(canonicalJson(value)).not.toBe(canonicalJson({ b: 2 }));
  });
});
