import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogueSchema, type Catalogue } from '../../src/domain/catalogue.ts';
import { canonicalVideoRequest, readVideoWish, videoBodySchema } from '../../src/domain/video-request.ts';
import { shownDeadlines, shownVideoBody } from '../../src/domain/video-shown-body.ts';

const model = (id: string, method: string, input: object, over: object = {}) => ({
  id,
  title: id,
  method,
  routes: [{ provider: 'infro', providerModel: 'm' }],
  input: { prompt: {}, ...input },
  price: { per: 'output', rates: [{ millicredits: 1_000 }] },
  expectedDurationSeconds: 60,
  deadlineSeconds: { default: 900, max: 3_600 },
  ...over,
});
const shapes = {
  resolution: { values: ['720p', '1080p'], default: '720p' },
  aspect_ratio: { values: ['16:9', '9:16'], default: '16:9' },
};
const catalogue = (models: readonly object[]): Catalogue => catalogueSchema.parse({ models });
const CATALOGUE = catalogue([
  model('plain', 'text-to-video', { duration_seconds: { min: 1, max: 15, default: 5 } }),
  model('sized', 'text-to-video', { duration_seconds: { values: [4, 8], default: 8 }, ...shapes }),
  model('either', 'text-to-video', { image_url: { required: false } }),
  model('animate', 'image-to-video', { image_url: {}, prompt: { required: false } }),
  model('images', 'text-to-image', {}),
]);
const STORED = { kind: 'stored', inputId: 'inp_1', sha256: 'ab' } as const;

const read = (body: unknown, file: typeof STORED | null = null, from = CATALOGUE) =>
  readVideoWish(from, videoBodySchema.parse(body), file);
const wrongOf = (body: unknown, file: typeof STORED | null = null) => {
  const wish = read(body, file);
  return wish.outcome === 'invalid'
    ? wish.errors.map(({ path, message }) => `${path} ${message}`)
    : [wish.outcome];
};

describe('readVideoWish', () => {
  it('renames fields, and turns a size into what it stands for', () => {
    expect(read({ model: 'plain', prompt: 'x', seconds: '4' })).toEqual({
      outcome: 'ok',
      model: 'plain',
      input: { prompt: 'x', duration_seconds: 4 },
      reference: null,
    });
    expect(read({ model: 'sized', prompt: 'x', seconds: 8, size: '1080x1920' })).toMatchObject({
      input: { duration_seconds: 8, resolution: '1080p', aspect_ratio: '9:16' },
    });
    expect(read({ model: 'animate' }, STORED)).toMatchObject({ input: {}, reference: STORED });
  });

  it('takes an image as file, name or bytes, where the model takes one', () => {
    const of = (input_reference: object) => {
      const wish = read({ model: 'either', prompt: 'x', input_reference });
      return wish.outcome === 'ok' ? wish.reference : wish;
    };
    expect(of({ file_id: 'inp_2' })).toEqual({ kind: 'named', name: 'inp_2' });
    expect(of({ image_url: 'https://example.com/x.png' })).toEqual({
      kind: 'named',
      name: 'https://example.com/x.png',
    });
    expect(of({ image_url: 'data:image/png;base64,aGk=' })).toEqual({
      kind: 'bytes',
      bytes: Buffer.from('hi'),
    });
    expect(read({ model: 'either', prompt: 'x' })).toMatchObject({ outcome: 'ok', reference: null });
  });

  it('says what a data URL has to be', () => {
    for (const image_url of ['data:image/png;base64,a-_=', 'DATA:image/png,plain']) {
      expect(wrongOf({ model: 'either', input_reference: { image_url } })).toEqual([
        '/input_reference Send a data URL with whole base64 (data:image/png;base64,…), or the file itself in a form.',
      ]);
    }
  });

  it('lists what there is when the model is none', () => {
    const offered = 'Models without input_reference: plain, sized, either; with it: either, animate.';
    expect(read({ prompt: 'x' })).toEqual({ outcome: 'unknown_model', message: `Name a model. ${offered}` });
    for (const id of ['sora-2', 'images']) {
      expect(read({ model: id })).toEqual({
        outcome: 'unknown_model',
        message: `No model of this name makes videos here. ${offered}`,
      });
    }
    const none = catalogue([model('images', 'text-to-image', {})]);
    expect(read({}, null, none)).toMatchObject({
      message: expect.stringContaining('input_reference: none; with it: none'),
    });
  });

  it('says every thing that this model can not be asked', () => {
    expect(wrongOf({ model: 'animate', seconds: '4', size: '1x1' })).toEqual([
      '/seconds This model has no length to choose: leave it out.',
      '/size This model has no size to choose: leave it out.',
      expect.stringMatching(/^\/input_reference animate needs an image\. Models/),
    ]);
    expect(wrongOf({ model: 'sized', size: '1024x1792' }, STORED)).toEqual([
      '/size Use one of 1280x720, 720x1280, 1920x1080, 1080x1920.',
      expect.stringMatching(/^\/input_reference sized takes no image\./),
    ]);
    expect(wrongOf({ model: 'animate', input_reference: { file_id: 'inp_2' } }, STORED)).toEqual([
      '/input_reference Send it once: as a file, or by its name.',
    ]);
  });
});

it.each([
  [{ seconds: '4s' }],
  [{ seconds: -1 }],
  [{ seconds: 4.5 }],
  [{ user: 'x' }],
  [{ input_reference: {} }],
  [{ input_reference: { file_id: 'a', image_url: 'b' } }],
])('a body of %j is none', (body) => {
  expect(videoBodySchema.safeParse(body).success).toBe(false);
});

it('canonicalVideoRequest has all that was asked, and no name of a stored file', () => {
  const wish = read({ model: 'animate', prompt: 'x' }, STORED);
  if (wish.outcome !== 'ok') throw new Error(wish.outcome);
  const context = { account: 'default', deadlineSeconds: null };
  expect(canonicalVideoRequest(wish, { sha256: 'ab' }, context)).toEqual({
    model: 'animate',
    input: { prompt: 'x' },
    image: { sha256: 'ab' },
    account: 'default',
    deadlineSeconds: null,
  });
});

describe('the body in the document', () => {
  const shown = (id: string, withFile = false) => {
    const schema = z.toJSONSchema(shownVideoBody(CATALOGUE, withFile), { io: 'input' }) as unknown as {
      oneOf: { properties: Record<string, { const?: string; enum?: string[] }>; required: string[] }[];
    };
    return schema.oneOf.find(({ properties }) => properties['model']?.const === id)!;
  };

  it('has one shape for each video model, with the fields it takes', () => {
    expect(shown('images')).toBeUndefined();
    expect(Object.keys(shown('plain').properties)).toEqual(['model', 'prompt', 'seconds']);
    expect(shown('plain').required).toEqual(['model', 'prompt']);
    expect(shown('sized').properties['size']!.enum).toEqual([
      '1280x720',
      '720x1280',
      '1920x1080',
      '1080x1920',
    ]);
    expect(shown('animate').required).toEqual(['model', 'input_reference']);
    expect(shown('either').required).toEqual(['model', 'prompt']);
    expect(JSON.stringify(shown('animate', true))).toContain('"binary"');
    expect(JSON.stringify(shown('animate'))).not.toContain('"binary"');
  });

  it.each([
    ['plain', '15', true],
    ['plain', 1, true],
    ['plain', '16', false],
    ['sized', '8', true],
    ['sized', 8, true],
    ['sized', '5', false],
  ])('%s for %j seconds: %s', (id, seconds, fits) => {
    const schema = shownVideoBody(CATALOGUE, false);
    expect(schema.safeParse({ model: id, prompt: 'x', seconds }).success).toBe(fits);
  });

  it('is empty where no model makes videos; deadlines are those that any takes', () => {
    const none = catalogue([model('images', 'text-to-image', {})]);
    expect(shownVideoBody(none, false).safeParse({}).success).toBe(true);
    expect(shownDeadlines(none)).toBeNull();
    expect(shownDeadlines(CATALOGUE)).toEqual({ min: 61, max: 3_600 });
    const slow = model(
      'slow',
      'text-to-video',
      {},
      { expectedDurationSeconds: 4_000, deadlineSeconds: { default: 5_000, max: 9_000 } },
    );
    expect(shownDeadlines(catalogue([model('plain', 'text-to-video', {}), slow]))).toEqual({
      min: 61,
      max: 9_000,
    });
  });

  it('without a prompt or a length has none', () => {
    const silent = { ...model('silent', 'image-to-video', {}), input: { image_url: {} } };
    const schema = shownVideoBody(catalogue([silent]), false);
    const image = { input_reference: { file_id: 'x' } };
    expect(schema.safeParse({ model: 'silent', ...image }).success).toBe(true);
    expect(schema.safeParse({ model: 'silent', prompt: 'x', ...image }).success).toBe(false);
  });
});
