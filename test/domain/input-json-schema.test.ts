import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { INPUT_FIELDS, inputSpecSchema } from '../../src/domain/input-fields.ts';
import { inputSchema } from '../../src/domain/input-schema.ts';
import type { InputSpec } from '../../src/domain/input-fields.ts';

const jsonSchema = (input: InputSpec) => z.toJSONSchema(inputSchema({ input }), { io: 'input' });

const TEXTS: ReadonlySet<string> = new Set(['description', 'example', 'pattern']);

/** What a form needs of each field, without the texts. */
function limits(input: InputSpec): unknown {
  const { properties = {}, required, additionalProperties } = jsonSchema(input);
  const fields = Object.entries(properties as Record<string, object>).map(([field, property]) => [
    field,
    Object.fromEntries(Object.entries(property).filter(([key]) => !TEXTS.has(key))) as unknown,
  ]);
  return { fields: Object.fromEntries(fields) as unknown, required, additionalProperties };
}

const seconds5or10 = { type: 'integer', enum: [5, 10], minimum: 5, maximum: 10, default: 5 };
const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength });
const choice = (...values: string[]) => ({ type: 'string', enum: values, default: values[0] });
const fluxFields = {
  prompt: text(2_000),
  aspect_ratio: choice('1:1', '16:9', '9:16', '4:3', '3:4'),
  seed: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
};
const rayFields = {
  prompt: text(6_000),
  duration_seconds: { type: 'integer', enum: [5], minimum: 5, maximum: 5, default: 5 },
  resolution: choice('720p'),
  aspect_ratio: choice('16:9', '9:16', '1:1', '4:3', '3:4', '21:9'),
};
const hailuoFields = {
  prompt: text(7_000),
  duration_seconds: { type: 'integer', minimum: 4, maximum: 15, default: 5 },
  resolution: choice('768p', '2k'),
};

describe('the JSON Schema of an input, as a frontend gets it', () => {
  it.each([
    [
      'infro-video',
      {
        prompt: text(2_000),
        duration_seconds: { type: 'integer', minimum: 1, maximum: 15, default: 5 },
      },
      ['prompt'],
    ],
    ['standard-video', { prompt: text(2_000), duration_seconds: seconds5or10 }, ['prompt']],
    [
      'cinema-video',
      {
        prompt: text(2_500),
        duration_seconds: { type: 'integer', enum: [4, 8], minimum: 4, maximum: 8, default: 8 },
        resolution: choice('720p', '1080p'),
        aspect_ratio: choice('16:9', '9:16'),
        audio: { type: 'boolean', default: false },
      },
      ['prompt'],
    ],
    [
      'animate-image',
      {
        prompt: text(1_000),
        image_url: { type: 'string', maxLength: 2_048 },
        duration_seconds: seconds5or10,
      },
      ['prompt', 'image_url'],
    ],
    [
      'quick-image',
      {
        prompt: text(2_000),
        aspect_ratio: choice('1:1', '16:9', '9:16'),
        count: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
        seed: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
      },
      ['prompt'],
    ],
    ['flux-image', fluxFields, ['prompt']],
    [
      'flux-edit',
      { ...fluxFields, image_url: { type: 'string', maxLength: 2_048 } },
      ['prompt', 'image_url'],
    ],
    [
      'flux-video',
      {
        prompt: text(2_000),
        duration_seconds: { type: 'integer', minimum: 5, maximum: 20, default: 5 },
        resolution: choice('hd', 'fhd'),
        aspect_ratio: choice('16:9', '9:16', '1:1'),
        audio: { type: 'boolean', default: true },
      },
      ['prompt'],
    ],
    ['ray-video', rayFields, ['prompt']],
    [
      'ray-animate',
      { ...rayFields, image_url: { type: 'string', maxLength: 2_048 } },
      ['prompt', 'image_url'],
    ],
    [
      'uni-image',
      { prompt: text(6_000), aspect_ratio: choice('1:1', '16:9', '9:16', '3:2', '2:3') },
      ['prompt'],
    ],
    [
      'relayed-video',
      {
        prompt: text(2_000),
        duration_seconds: { type: 'integer', enum: [4, 8, 12], minimum: 4, maximum: 12, default: 4 },
        aspect_ratio: choice('16:9', '9:16'),
      },
      ['prompt'],
    ],
    [
      'hailuo-video',
      { ...hailuoFields, aspect_ratio: choice('16:9', '9:16', '1:1', '4:3', '3:4', '21:9') },
      ['prompt'],
    ],
    [
      'hailuo-animate',
      { ...hailuoFields, image_url: { type: 'string', maxLength: 2_048 } },
      ['prompt', 'image_url'],
    ],
    ['clear-speech', { text: text(1_000), voice: choice('Maya', 'Arjun') }, ['text']],
  ])('%s', (id, fields, required) => {
    const model = DEFAULT_CATALOGUE.models.find((each) => each.id === id)!;
    expect(limits(model.input)).toEqual({ fields, required, additionalProperties: false });
  });

  it('covers every default model', () => {
    expect(DEFAULT_CATALOGUE.models.map(({ id }) => id)).toEqual([
      'infro-video',
      'infro-video-polled',
      'standard-video',
      'cinema-video',
      'veo-video',
      'veo-animate',
      'animate-image',
      'flux-video',
      'relayed-video',
      'ray-video',
      'ray-animate',
      'hailuo-video',
      'hailuo-animate',
      'quick-image',
      'flux-image',
      'flux-edit',
      'uni-image',
      'clear-speech',
    ]);
  });

  it('tells every field in words, and its examples are valid', () => {
    const choice = { values: ['a', 'b'], default: 'b' };
    const all = inputSpecSchema.parse({
      prompt: {},
      negative_prompt: {},
      text: {},
      image_url: {},
      duration_seconds: { min: 1, max: 9, default: 3 },
      resolution: choice,
      aspect_ratio: choice,
      mode: choice,
      voice: choice,
      audio: { default: false },
      upscale: { default: true },
      count: { max: 2, default: 1 },
      seed: {},
    });
    expect(Object.keys(all)).toEqual(INPUT_FIELDS);
    const properties = jsonSchema(all).properties as Record<
      string,
      { description: string; example?: unknown }
    >;
    expect(
      Object.fromEntries(Object.entries(properties).map(([field, each]) => [field, each.description])),
    ).toEqual({
      prompt: 'What the output shall show.',
      negative_prompt: 'What it shall not show.',
      text: 'What is spoken.',
      image_url:
        'The image to begin with: an https URL that can be fetched without a login, or the id of an upload (`POST /v1/inputs`). ' +
        'A URL is fetched once, now; what lies there later changes nothing. Taken: image/png, image/jpeg, image/webp; at most ' +
        '20 MiB; images of 16 to 8192 pixels a side, at most 40 megapixels.',
      duration_seconds: 'Length of the output in seconds.',
      resolution: 'Size of the output.',
      aspect_ratio: 'Width to height.',
      mode: 'Quality of the render.',
      voice: 'Who speaks.',
      audio: 'true = with sound.',
      upscale: 'true = enlarged after the render.',
      count: 'How many outputs; each is priced.',
      seed: 'The same seed and input give similar outputs.',
    });
    const examples = Object.entries(properties).flatMap(([field, { example }]) =>
      example === undefined ? [] : [[field, example] as const],
    );
    expect(Object.fromEntries(examples)).toEqual({
      prompt: 'A lighthouse in a storm, seen from the sea',
      negative_prompt: 'blurry',
      text: 'Your table is ready.',
      image_url: 'https://example.com/boat.png',
      duration_seconds: 3,
      seed: 7,
    });
    expect(inputSchema({ input: all }).safeParse(Object.fromEntries(examples)).success).toBe(true);
    const steps = jsonSchema(inputSpecSchema.parse({ duration_seconds: { values: [5, 10], default: 10 } }));
    expect(steps.properties).toMatchObject({ duration_seconds: { example: 10, default: 10 } });
  });
});
