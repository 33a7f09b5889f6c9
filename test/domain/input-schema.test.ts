import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { INPUT_FIELDS, inputSpecSchema, METHODS } from '../../src/domain/input-fields.ts';
import { FILE_ADVICE, hasMainField, inputSchema } from '../../src/domain/input-schema.ts';

const spec = inputSpecSchema.parse({
  prompt: { maxCharacters: 10 },
  negative_prompt: {},
  image_url: { required: false },
  duration_seconds: { min: 1, max: 15, default: 5 },
  resolution: { values: ['720p', '1080p'], default: '720p' },
  audio: { default: true },
  upscale: { default: false },
  count: { max: 4, default: 2 },
  seed: {},
});
const schema = inputSchema({ input: spec });
const steps = inputSchema({
  input: inputSpecSchema.parse({ duration_seconds: { values: [5, 10], default: 5 } }),
});

/** Which fields are wrong, and what is said of them. */
function problems(input: unknown, by = schema): Record<string, string> {
  const { error } = by.safeParse(input);
  return Object.fromEntries((error?.issues ?? []).map(({ path, message }) => [path.join('.'), message]));
}

describe('inputSchema', () => {
  it('fills in the defaults, and nothing for what the provider may choose', () => {
    expect(schema.parse({ prompt: 'a cat' })).toEqual({
      prompt: 'a cat',
      duration_seconds: 5,
      resolution: '720p',
      audio: true,
      upscale: false,
      count: 2,
    });
    expect(steps.parse({})).toEqual({ duration_seconds: 5 });
  });

  it('keeps what was sent', () => {
    const sent = {
      prompt: ' a\ncat ',
      negative_prompt: 'dogs',
      image_url: 'https://example.com/a.png?b=1#c',
      duration_seconds: 15,
      resolution: '1080p',
      audio: false,
      upscale: true,
      count: 1,
      seed: 0,
    };
    expect(schema.parse(sent)).toEqual(sent);
    expect(steps.parse({ duration_seconds: 10 })).toEqual({ duration_seconds: 10 });
  });

  it('needs the required text, and names unknown fields', () => {
    expect(Object.keys(problems({}))).toEqual(['prompt']);
    expect(schema.safeParse({ prompt: 'a cat', colour: 1 }).error?.issues).toMatchObject([
      { code: 'unrecognized_keys', keys: ['colour'] },
    ]);
    expect(schema.safeParse({ prompt: 'a cat', voice: 'Maya' }).success).toBe(false);
  });
});

describe('inputSchema: quantities', () => {
  const FIELDS = ['duration_seconds', 'count', 'seed'];
  const bad = [
    2 ** 53,
    2 ** 53 + 2,
    1e300,
    -1,
    -(2 ** 53),
    1.5,
    0.1 + 0.2,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '5',
    '',
    true,
    null,
    [5],
    {},
    5n,
  ];

  it.each(FIELDS.flatMap((field) => bad.map((value) => [field, value] as const)))(
    '%s %s is refused by its name',
    (field, value) => {
      expect(Object.keys(problems({ prompt: 'a cat', [field]: value }))).toEqual([field]);
    },
  );

  it.each(bad)('one of two values is not %s', (value) => {
    expect(Object.keys(problems({ duration_seconds: value }, steps))).toEqual(['duration_seconds']);
  });

  it.each([
    ['duration_seconds', 0, 16],
    ['count', 0, 5],
    ['seed', -1, 2_147_483_648],
  ])('%s is above %i and below %i', (field, below, above) => {
    for (const [value, fits] of [
      [below, false],
      [below + 1, true],
      [above - 1, true],
      [above, false],
      [1_000_000_000, field === 'seed'],
    ] as const)
      expect(schema.safeParse({ prompt: 'a cat', [field]: value }).success).toBe(fits);
  });

  it('says which values there are', () => {
    expect(problems({ duration_seconds: 7 }, steps)).toEqual({ duration_seconds: 'Use one of 5, 10.' });
  });
});

describe('inputSchema: choices and flags', () => {
  it.each([
    ['resolution', '4k'],
    ['resolution', '720P'],
    ['resolution', 720],
    ['resolution', null],
    ['audio', 'true'],
    ['audio', 1],
    ['upscale', null],
  ])('%s %j is refused by its name', (field, value) => {
    expect(Object.keys(problems({ prompt: 'a cat', [field]: value }))).toEqual([field]);
  });
});

describe('inputSchema: text', () => {
  it.each([
    ['ten letters', 'abcdefghij', true],
    ['eleven letters', 'abcdefghijk', false],
    ['ten emoji, of two units each', '😀'.repeat(10), true],
    ['eleven emoji', '😀'.repeat(11), false],
    ['one letter in white space', ' \n a', true],
    ['nothing', '', false],
    ['white space', ' \t\n\u3000', false],
    ['NUL inside', 'a\0b', false],
    ['NUL before', '\0a', false],
    ['NUL after', 'a\0', false],
    ['a number', 5, false],
    ['null', null, false],
  ])('%s', (_name, prompt, fits) => {
    expect(schema.safeParse({ prompt }).success).toBe(fits);
  });

  it('says what to do', () => {
    expect(problems({ prompt: 'abcdefghijk' })).toEqual({ prompt: 'Use at most 10 characters.' });
    expect(problems({ prompt: ' ' })).toEqual({
      prompt: 'Write some text; white space alone is not enough.',
    });
  });

  it('may be optional, yet not empty', () => {
    expect(problems({ prompt: 'a cat', negative_prompt: ' ' })).toHaveProperty('negative_prompt');
  });
});

describe('inputSchema: image_url', () => {
  const long = (length: number) => `https://example.com/${'a'.repeat(length - 20)}`;

  it.each([
    ['https://example.com/boat.png', true],
    ['HTTPS://EXAMPLE.COM', true],
    [long(2_048), true],
    [long(2_049), false],
    // Who may be called is for the caller to check: an allow-listed host may be plain http.
    ['http://example.com/boat.png', true],
    ['inp_06f1m4k2h8v7x9q3w5y1z0a2b4', true],
    ['inp_06f1m4k2h8v7x9q3w5y1z0a2bi', false],
    ['ftp://example.com/boat.png', false],
    ['data:image/png;base64,AAAA', false],
    ['https://user@example.com/', false],
    ['https://:secret@example.com/', false],
    ['//example.com/boat.png', false],
    ['boat.png', false],
    ['https://', false],
    ['', false],
  ])('%s', (image_url, fits) => {
    const wrong = fits ? {} : { image_url: FILE_ADVICE };
    expect(problems({ prompt: 'a cat', image_url })).toEqual(wrong);
  });

  it('is required unless the model says otherwise', () => {
    const required = inputSchema({ input: inputSpecSchema.parse({ image_url: {} }) });
    expect(Object.keys(problems({}, required))).toEqual(['image_url']);
  });
});

describe('hasMainField', () => {
  it('holds for every default model', () => {
    expect(DEFAULT_CATALOGUE.models.every(hasMainField)).toBe(true);
  });

  it.each([
    ['text-to-video', { prompt: {} }, true],
    ['text-to-video', { prompt: { required: false } }, false],
    ['text-to-video', { text: {} }, false],
    ['image-to-video', { image_url: {} }, true],
    ['image-to-video', { prompt: {} }, false],
    ['text-to-image', { prompt: {} }, true],
    ['text-to-image', { negative_prompt: { required: true } }, false],
    ['text-to-speech', { text: {} }, true],
    ['text-to-speech', { prompt: {} }, false],
  ] as const)('%s of %j: %s', (method, input, has) => {
    expect(hasMainField({ method, input: inputSpecSchema.parse(input) })).toBe(has);
  });
});

describe('input fields', () => {
  it('are a closed list', () => {
    expect(INPUT_FIELDS).toHaveLength(13);
    expect(METHODS).toHaveLength(4);
  });
});
