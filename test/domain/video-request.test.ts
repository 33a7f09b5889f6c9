import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogueSchema, type Catalogue } from '../../src/domain/catalogue.ts';
import {
  canonicalVideoRequest,
  readReference,
  readVideoWish,
  videoBodySchema,
} from '../../src/domain/video-request.ts';
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

const UPLOAD = `inp_${'0'.repeat(26)}`;

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
    });
    expect(read({ model: 'sized', prompt: 'x', seconds: 8, size: '1080x1920' })).toMatchObject({
      input: { duration_seconds: 8, resolution: '1080p', aspect_ratio: '9:16' },
    });
    expect(read({ model: 'animate' }, STORED)).toEqual({ outcome: 'ok', model: 'animate', input: {} });
    expect(read({ model: 'either', prompt: 'x' })).toMatchObject({ outcome: 'ok' });
    expect(read({ model: 'either', prompt: 'x' }, STORED)).toMatchObject({ outcome: 'ok' });
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

describe('readReference', () => {
  const of = (input_reference?: object, file: typeof STORED | null = null) =>
    readReference(videoBodySchema.parse({ input_reference }), file);
  const wrong = (message: string) => ({
    outcome: 'invalid',
    errors: [{ path: '/input_reference', message }],
  });

  it('takes an image as file, name or bytes', () => {
    expect(of()).toEqual({ outcome: 'ok', reference: null });
    expect(of(undefined, STORED)).toEqual({ outcome: 'ok', reference: STORED });
    expect(of({ file_id: UPLOAD })).toEqual({ outcome: 'ok', reference: { kind: 'named', name: UPLOAD } });
    const name = 'https://example.com/x.png';
    expect(of({ image_url: name })).toEqual({ outcome: 'ok', reference: { kind: 'named', name } });
    expect(of({ image_url: 'data:image/png;base64,aGk=' })).toEqual({
      outcome: 'ok',
      reference: {
        kind: 'bytes',
        bytes: Buffer.from('hi'),
        sha256: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
      },
    });
  });

  it('wants it once', () => {
    expect(of({ file_id: UPLOAD }, STORED)).toEqual(wrong('Send it once: as a file, or by its name.'));
  });

  it.each([
    [{ file_id: 'https://example.com/x.png' }],
    [{ file_id: 'data:image/png;base64,aGk=' }],
    [{ file_id: 'file-abc' }],
    [{ image_url: UPLOAD }],
  ])('wants an upload and a URL each in its own member: not %j', (input_reference) => {
    expect(of(input_reference)).toEqual(
      wrong('Send the id of an upload (POST /v1/inputs) as file_id, a URL as image_url.'),
    );
  });

  it.each(['data:image/png;base64,a-_=', 'DATA:image/png,plain'])('says what %s has to be', (image_url) => {
    expect(of({ image_url })).toEqual(
      wrong('Send a data URL with whole base64 (data:image/png;base64,…), or the file itself in a form.'),
    );
  });
});

describe('canonicalVideoRequest', () => {
  const context = { account: 'default', deadlineSeconds: null };
  const of = (body: unknown, reference: Parameters<typeof canonicalVideoRequest>[1] = null) =>
    canonicalVideoRequest(videoBodySchema.parse(body), reference, context);

  it('has all that was sent, and nothing of what it means in a catalogue', () => {
    expect(of({ model: 'sized', prompt: 'x', seconds: '08', size: '1080x1920' })).toEqual({
      model: 'sized',
      prompt: 'x',
      seconds: 8,
      size: '1080x1920',
      image: null,
      ...context,
    });
    expect(of({ model: 'sized', prompt: 'x', seconds: 8, size: '1080x1920' })).toEqual(
      of({ model: 'sized', prompt: 'x', seconds: '8', size: '1080x1920' }),
    );
  });

  it('has an image by its bytes, or by the name that was sent', () => {
    const bytes = { kind: 'bytes', bytes: Buffer.from('hi'), sha256: 'ab' } as const;
    for (const image of [STORED, bytes]) expect(of({}, image)).toMatchObject({ image: { sha256: 'ab' } });
    expect(of({}, { kind: 'named', name: UPLOAD })).toEqual({
      model: null,
      prompt: null,
      seconds: null,
      size: null,
      image: { name: UPLOAD },
      ...context,
    });
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
