import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { entityTag, matchesEntityTag } from '../../../src/domain/http/entity-tag.ts';

describe('entityTag', () => {
  it('is a quoted part of the SHA-256 of the bytes', () => {
    const hash = createHash('sha256').update('{"a":"ä"}').digest('base64url');
    expect(entityTag('{"a":"ä"}')).toBe(`"${hash.slice(0, 27)}"`);
    expect(entityTag('{"a":"a"}')).not.toBe(entityTag('{"a":"ä"}'));
  });
});

describe('matchesEntityTag', () => {
  const tag = '"abc"';

  it.each(['"abc"', 'W/"abc"', ' "abc" ', '"x", "abc"', '"x",W/"abc","y"', '*', ' * '])(
    '%j matches',
    (header) => {
      expect(matchesEntityTag(header, tag)).toBe(true);
    },
  );

  it.each([undefined, '', 'abc', '"abcd"', 'w/"abc"', 'W/W/"abc"', '"x", *', '"ab', '**'])(
    '%j does not',
    (header) => {
      expect(matchesEntityTag(header, tag)).toBe(false);
    },
  );
});
