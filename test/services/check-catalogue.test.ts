import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { findContradictions } from '../../src/services/check-catalogue.ts';
import { fileOf, problemsIn, writtenModel } from './catalogue-file.ts';

const { input, price } = writtenModel();
const fields = (over: object) => ({ input: { ...input, ...over } });
const flat = [{ millicredits: 1_000 }];
const per = (unit: string, ...rates: object[]) => ({
  price: { per: unit, rates: rates.length > 0 ? rates : flat },
});
const rate = (when: object, millicredits = 1_000) => ({ when, millicredits });
const route = (per: string) => ({
  routes: [{ provider: 'infro', providerModel: 'm', cost: { per, amount: '0.05', unit: 'USD' } }],
});

/** The problems of a model with these fields, and the text of the line that the first one names. */
function found(over: Record<string, unknown>): { line: string; problems: string[] } {
  const text = fileOf(writtenModel(over));
  const parts = problemsIn(text).map((problem) => /^models\.json:(\d+) models\[0\]\.(.*)$/.exec(problem)!);
  return {
    line: text.split('\n')[Number(parts[0]?.[1]) - 1]?.trim() ?? '',
    problems: parts.map(([, , problem]) => problem!),
  };
}

describe('a catalogue without contradictions', () => {
  it('is the default one', () => {
    expect(findContradictions(DEFAULT_CATALOGUE)).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['as written', {}],
    ['seconds of one value', fields({ duration_seconds: { min: 5, max: 5, default: 5 } })],
    ['the first of the values', fields({ duration_seconds: { values: [5, 10], default: 5 } })],
    ['the most outputs by default', fields({ count: { max: 4, default: 4 } })],
    ['a default deadline that is the longest', { deadlineSeconds: { default: 900, max: 900 } }],
    ['a deadline just above the expected duration', { deadlineSeconds: { default: 61, max: 61 } }],
    ['a rate for both values of a flag', per('second', rate({ audio: true }), rate({ audio: false }))],
    [
      'a rate that is stricter, then one for the rest',
      per('second', rate({ audio: true, resolution: '720p' }), rate({ audio: true }), ...flat),
    ],
    ['a cost per second', route('second')],
    ['a cost per output', route('output')],
  ])('%s', (_name, over) => {
    expect(found(over).problems).toEqual([]);
  });
});

describe('contradictions, by line and field', () => {
  it.each<[string, Record<string, unknown>, string, string]>([
    [
      'a default below the shortest',
      fields({ duration_seconds: { min: 5, max: 15, default: 4 } }),
      '"duration_seconds": {',
      'input.duration_seconds: the default must be one of the values it allows, min ≤ default ≤ max',
    ],
    [
      'a default above the longest',
      fields({ duration_seconds: { min: 5, max: 15, default: 16 } }),
      '"duration_seconds": {',
      'input.duration_seconds: the default must be one of the values it allows, min ≤ default ≤ max',
    ],
    [
      'a default that is none of the seconds',
      fields({ duration_seconds: { values: [5, 10], default: 7 } }),
      '"duration_seconds": {',
      'input.duration_seconds: the default must be one of the values it allows, min ≤ default ≤ max',
    ],
    [
      'a default that is none of the choices',
      fields({ resolution: { values: ['720p', '1080p'], default: '4k' } }),
      '"default": "4k"',
      'input.resolution.default: must be one of the values',
    ],
    [
      'more outputs by default than at most',
      fields({ count: { max: 4, default: 5 } }),
      '"count": {',
      'input.count: default must not be above max',
    ],
    [
      'a default deadline above the longest',
      { deadlineSeconds: { default: 3_601, max: 3_600 } },
      '"deadlineSeconds": {',
      'deadlineSeconds: default must not be above max',
    ],
    [
      'a deadline in which nothing can be rendered',
      { deadlineSeconds: { default: 60, max: 3_600 } },
      '"default": 60,',
      'deadlineSeconds.default: must be above expectedDurationSeconds, else nothing is ever submitted',
    ],
    [
      'image-to-video without an image',
      { method: 'image-to-video' },
      '"input": {',
      'input: image-to-video needs a required "image_url"',
    ],
    [
      'an image that would have to be smaller than it may be',
      fields({ image_url: { minSide: 900, maxSide: 300 } }),
      '"image_url": {',
      'input.image_url: minSide must not be above maxSide',
    ],
    [
      'image-to-video whose image may be left out',
      { method: 'image-to-video', ...fields({ image_url: { required: false } }) },
      '"input": {',
      'input: image-to-video needs a required "image_url"',
    ],
    [
      'a price per second without seconds',
      { input: { prompt: {} }, ...per('second') },
      '"per": "second",',
      'price.per: needs the input field "duration_seconds"',
    ],
    [
      'a price per thousand characters without text',
      per('thousand_characters'),
      '"per": "thousand_characters",',
      'price.per: needs the input field "text"',
    ],
    [
      'a price per thousand characters of a text that may be left out',
      { ...fields({ text: { required: false } }), ...per('thousand_characters') },
      '"per": "thousand_characters",',
      'price.per: needs the input field "text" to be required',
    ],
    [
      'a cost per thousand characters without text',
      route('thousand_characters'),
      '"per": "thousand_characters",',
      'routes[0].cost.per: needs the input field "text"',
    ],
    [
      'a rate on a field that the model does not have',
      per('second', rate({ voice: 'Maya' }), ...flat),
      '"voice": "Maya"',
      'price.rates[0].when.voice: the model has no input field "voice"',
    ],
    [
      'a rate on a value that is not there',
      per('second', rate({ resolution: '4k' }), ...flat),
      '"resolution": "4k"',
      'price.rates[0].when.resolution: "4k" is not a value of "resolution": 720p, 1080p',
    ],
    [
      'a flag as text',
      per('second', rate({ audio: 'true' }), ...flat),
      '"audio": "true"',
      'price.rates[0].when.audio: "true" is not a value of "audio": false, true',
    ],
    [
      'an adjustment on a value that is not there',
      { price: { ...(price as object), adjustments: [{ when: { resolution: '8k' }, percent: 150 }] } },
      '"resolution": "8k"',
      'price.adjustments[0].when.resolution: "8k" is not a value of "resolution": 720p, 1080p',
    ],
    [
      'no rate for one of the combinations',
      per('second', rate({ audio: true }), rate({ resolution: '1080p' })),
      '"rates": [',
      'price.rates: the price rule has no rate for this input (duration_seconds=1, audio=false, resolution="720p")',
    ],
    [
      'a rate behind one that always holds',
      per('second', ...flat, rate({ resolution: '1080p' }, 9_000)),
      '{',
      'price.rates[1]: is never used: rates[0] always holds first',
    ],
    [
      'a rate behind one that holds whenever it does',
      per('second', rate({ audio: true }), rate({ resolution: '720p', audio: true }), ...flat),
      '{',
      'price.rates[1]: is never used: rates[0] always holds first',
    ],
    [
      'a price above 2^53 − 1 at its longest',
      {
        ...fields({ duration_seconds: { min: 1, max: 9_007_200, default: 1 } }),
        ...per('second', rate({}, 10 ** 12)),
      },
      '"rates": [',
      'price.rates: the price is not a whole number of credits from 1 to 2^53 − 1 (duration_seconds=9007200)',
    ],
    [
      'a price above 2^53 − 1 of an option alone',
      {
        price: {
          per: 'output',
          rates: [rate({}, 10 ** 12)],
          adjustments: Array.from({ length: 4 }, () => ({ when: { audio: true }, percent: 10_000 })),
        },
      },
      '"rates": [',
      'price.rates: the price is not a whole number of credits from 1 to 2^53 − 1 (duration_seconds=1, audio=true)',
    ],
    [
      'seconds that cost nothing',
      { ...fields({ duration_seconds: { min: 0, max: 5, default: 5 } }), ...per('second') },
      '"rates": [',
      'price.rates: the price is not a whole number of credits from 1 to 2^53 − 1 (duration_seconds=0)',
    ],
  ])('%s', (_name, over, line, problem) => {
    expect(found(over)).toEqual({ line, problems: [problem] });
  });

  it('says nothing of the price while its conditions are wrong', () => {
    expect(found(per('second', rate({ resolution: '4k' }))).problems).toHaveLength(1);
  });

  it('a price of any input at all', () => {
    const model = {
      ...fields({}),
      input: { prompt: {} },
      price: { per: 'output', rates: [rate({}, 10 ** 12)] },
    };
    const adjustments = Array.from({ length: 5 }, () => ({ when: {}, percent: 10_000 }));
    expect(found({ ...model, price: { ...model.price, adjustments } }).problems).toEqual([
      'price.rates: the price is not a whole number of credits from 1 to 2^53 − 1 (any input)',
    ]);
  });

  it('stops at a price that depends on too much to be tried', () => {
    const many = { values: Array.from({ length: 100 }, (_, i) => `v${i}`), default: 'v0' };
    const model = {
      ...fields({ resolution: many, mode: many, voice: many }),
      ...per('second', rate({ resolution: 'v1', mode: 'v1', voice: 'v1' }), ...flat),
    };
    expect(found(model)).toEqual({
      line: '"price": {',
      problems: ['price: depends on more than 10000 combinations of input'],
    });
  });

  it('a model id that is there twice, at the second of them', () => {
    const text = fileOf(writtenModel(), writtenModel({ id: 'other' }), writtenModel());
    const line = text.slice(0, text.lastIndexOf('"id"')).split('\n').length;
    expect(problemsIn(text)).toEqual([`models.json:${line} models[2].id: "my-video" is there twice`]);
  });
});
