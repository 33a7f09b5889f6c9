import { describe, expect, it } from 'vitest';
import { dataUrlBytes } from '../../src/domain/data-url.ts';
import { ordinalOf, videoDigest, videoKey, videoKeyRange } from '../../src/domain/video-key.ts';

const digest = videoDigest('key:a', { model: 'm', input: { prompt: 'x' } });

describe('derived keys', () => {
  it('are equal for equal requests, in any order of their members', () => {
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(videoDigest('key:a', { input: { prompt: 'x' }, model: 'm' })).toBe(digest);
    expect(videoDigest('key:b', { model: 'm', input: { prompt: 'x' } })).not.toBe(digest);
    expect(videoDigest('key:a', { model: 'm', input: { prompt: 'y' } })).not.toBe(digest);
  });

  it('sort by number within the range of their digest, and tell it', () => {
    const keys = [1, 2, 10, 11, 100, 9_999_999_999].map((ordinal) => videoKey(digest, ordinal));
    const { from, to } = videoKeyRange(digest);
    expect([...keys].sort()).toEqual(keys);
    expect(keys.every((key) => from < key && key <= to && key.length === from.length)).toBe(true);
    expect(keys.map(ordinalOf)).toEqual([1, 2, 10, 11, 100, 9_999_999_999]);
    expect(keys[0]!.length).toBeLessThanOrEqual(255);
  });
});

describe('dataUrlBytes', () => {
  it.each([
    ['data:image/png;base64,aGVsbG8=', 'hello'],
    ['data:image/png;name=x.png;base64,aGk=', 'hi'],
    ['DATA:;BASE64,', ''],
  ])('reads %s', (text, bytes) => {
    expect(Buffer.from(dataUrlBytes(text)!).toString()).toBe(bytes);
  });

  it.each([
    'https://example.com/x.png',
    'data:image/png,hello',
    'data:image/png;base64,a',
    'data:;base64,a b=',
    '',
  ])('reads nothing in %j', (text) => {
    expect(dataUrlBytes(text)).toBeNull();
  });
});
