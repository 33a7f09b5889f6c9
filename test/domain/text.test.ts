import { describe, expect, it } from 'vitest';
import { countCharacters } from '../../src/domain/text.ts';

describe('countCharacters: code points, as JSON Schema counts them', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['ä', 1],
    ['日本', 2],
    ['😀', 1],
    ['a😀b😀', 4],
    ['👨‍👩‍👧‍👦', 7],
    ['🇩🇪', 2],
    ['\ud83d', 1],
    ['\ude00', 1],
    ['\ude00\ud83d', 2],
    ['\ud83d\ud83d\ude00', 2],
    ['\r\n', 2],
  ])('%j has %i', (text, characters) => {
    expect(countCharacters(text)).toBe(characters);
    expect(Array.from(text)).toHaveLength(characters);
  });
});
