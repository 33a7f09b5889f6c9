import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { anyRequestSchema, minDeadlineSeconds, requestSchema } from '../../src/domain/generation-request.ts';

const cinema = DEFAULT_CATALOGUE.models.find(({ id }) => id === 'cinema-video')!;
const schema = requestSchema(cinema);
const body = { model: 'cinema-video', input: { prompt: 'a cat' } };
/** The fields that are wrong, each once. */
function wrong(over: object): string[] {
  const { error } = schema.safeParse({ ...body, ...over });
  return [...new Set(error?.issues.map(({ path }) => path.join('.')))];
}

describe('requestSchema', () => {
  it('fills in account, deadline, metadata and the input', () => {
    expect(schema.parse(body)).toEqual({
      model: 'cinema-video',
      input: {
        prompt: 'a cat',
        duration_seconds: 8,
        resolution: '720p',
        aspect_ratio: '16:9',
        audio: false,
      },
      account: 'default',
      deadline_seconds: 1_800,
      metadata: {},
    });
  });

  it.each([1, 180, 181.5, 0, -1, 2 ** 53, Number.NaN, '300', null])(
    'refuses the deadline %s',
    (deadline_seconds) => {
      expect(wrong({ deadline_seconds })).toEqual(['deadline_seconds']);
    },
  );

  it('has no deadline within which nothing would be submitted, and says the shortest', () => {
    expect(minDeadlineSeconds(cinema)).toBe(181);
    expect(wrong({ deadline_seconds: 181 })).toEqual([]);
    expect(schema.safeParse({ ...body, deadline_seconds: 180 }).error?.issues).toMatchObject([
      { message: 'Use at least 181: a job of this model takes 180 seconds.' },
    ]);
  });

  it('goes to the longest deadline of its model', () => {
    expect(wrong({ deadline_seconds: 7_200 })).toEqual([]);
    expect(wrong({ deadline_seconds: 7_201 })).toEqual(['deadline_seconds']);
  });

  it.each([0, 300, Number.MAX_SAFE_INTEGER])('max_credits may be %i', (max_credits) => {
    expect(schema.parse({ ...body, max_credits })).toMatchObject({ max_credits });
  });

  it.each([-1, 2 ** 53, 0.5, Number.NaN, '300', null])('max_credits is never %s', (max_credits) => {
    expect(wrong({ max_credits })).toEqual(['max_credits']);
  });

  it('knows the providers of the model and no others', () => {
    expect(wrong({ provider: 'kling' })).toEqual([]);
    expect(wrong({ provider: 'fal' })).toEqual([]);
    expect(wrong({ provider: 'infro' })).toEqual(['provider']);
  });

  it('refuses another model, unknown fields and a missing input', () => {
    expect(wrong({ model: 'infro-video' })).toEqual(['model']);
    expect(schema.safeParse({ ...body, colour: 1 }).error?.issues).toMatchObject([{ keys: ['colour'] }]);
    expect(wrong({ input: undefined })).toEqual(['input']);
  });

  it.each(['default', 'user_1', 'a.b:c@d|e-f', 'A', '9', 'x'.repeat(128)])('the account %s', (account) => {
    expect(wrong({ account })).toEqual([]);
  });

  it.each(['', '_a', '-a', 'a b', 'ä', 'a/b', 'x'.repeat(129), 'a\n', 5, null])(
    'is no account: %j',
    (account) => {
      expect(wrong({ account })).toEqual(['account']);
    },
  );
});

describe('metadata', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

  it.each([
    ['50 keys', many(50), true],
    ['51 keys', many(51), false],
    ['a key of 64 characters', { ['k'.repeat(64)]: '' }, true],
    ['a key of 65 characters', { ['k'.repeat(65)]: '' }, false],
    ['an empty key', { '': 'v' }, false],
    ['a key with a space', { 'a b': 'v' }, false],
    ['a key that no JSON reader of ours takes', { constructor: 'v' }, false],
    ['a key that begins like it', { constructors: 'v' }, true],
    ['500 characters of two units each', { k: '😀'.repeat(500) }, true],
    ['a value of 500 characters', { k: 'v'.repeat(500) }, true],
    ['a value of 501 characters', { k: 'v'.repeat(501) }, false],
    ['a value with NUL', { k: 'a\0b' }, false],
    ['an emoji and a new line', { k: '😀\n' }, true],
    ['a number', { k: 1 }, false],
    ['a list', ['a'], false],
  ])('%s', (_name, metadata, fits) => {
    expect(schema.safeParse({ ...body, metadata }).success).toBe(fits);
  });
});

describe('anyRequestSchema', () => {
  it('tells the models apart', () => {
    const any = anyRequestSchema(DEFAULT_CATALOGUE);
    expect(any.parse({ model: 'quick-image', input: { prompt: 'a cat' } }).input).toMatchObject({ count: 1 });
    expect(any.safeParse({ model: 'quick-image', input: { prompt: 'x', audio: true } }).success).toBe(false);
    const { oneOf } = z.toJSONSchema(any, { io: 'input' });
    expect(oneOf).toHaveLength(18);
  });
});
