import { describe, expect, it } from 'vitest';
import { catalogueSchema, modelSchema, type Catalogue } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { costRuleSchema, priceRuleSchema } from '../../src/domain/price-rule.ts';

const model = {
  id: 'm',
  title: 'M',
  method: 'text-to-video',
  routes: [{ provider: 'infro', providerModel: 'x' }],
  input: { prompt: {} },
  price: { per: 'output', rates: [{ millicredits: 1_000 }] },
  expectedDurationSeconds: 5,
  deadlineSeconds: { default: 60, max: 100 },
};
const fits = (over: object) => modelSchema.safeParse({ ...model, ...over }).success;

describe('the default catalogue', () => {
  const providersOf = ({ routes }: Catalogue['models'][number]) =>
    new Set(routes.map(({ provider }) => provider));

  it('has at least three models with two or more providers', () => {
    const several = DEFAULT_CATALOGUE.models.filter((each) => providersOf(each).size >= 2);
    expect(several.map(({ id }) => id)).toEqual([
      'standard-video',
      'cinema-video',
      'animate-image',
      'quick-image',
    ]);
  });

  it('has every method, and several outputs only where one job returns several', () => {
    expect(new Set(DEFAULT_CATALOGUE.models.map(({ method }) => method)).size).toBe(4);
    expect(DEFAULT_CATALOGUE.models.filter(({ input }) => input.count).map(({ id }) => id)).toEqual([
      'quick-image',
    ]);
  });

  it('is read again from its JSON as it is, so that it can be the start of an own file', () => {
    expect(catalogueSchema.parse(JSON.parse(JSON.stringify(DEFAULT_CATALOGUE)))).toEqual(DEFAULT_CATALOGUE);
  });
});

describe('modelSchema', () => {
  it('fills in what is left out', () => {
    expect(modelSchema.parse(model)).toMatchObject({
      routes: [{ callbacks: true, params: {}, cost: null }],
      input: { prompt: { maxCharacters: 2_000, required: true } },
      outputs: { mediaTypes: ['video/mp4'], maxBytes: 2_147_483_648 },
      price: { rates: [{ when: {} }], adjustments: [] },
      timings: { pollMaxMs: 30_000 },
    });
  });

  it.each([
    ['an id in capitals', { id: 'M' }],
    ['an id of 65 characters', { id: 'm'.repeat(65) }],
    ['no title', { title: '' }],
    ['no route', { routes: [] }],
    ['eleven routes', { routes: Array.from({ length: 11 }, () => model.routes[0]) }],
    ['a provider in capitals', { routes: [{ provider: 'INFRO', providerModel: 'x' }] }],
    ['a provider without a model', { routes: [{ provider: 'infro', providerModel: '' }] }],
    ['an unknown field', { colour: 1 }],
    ['an unknown method', { method: 'text-to-nothing' }],
    ['no input field', { input: {} }],
    ['an unknown input field', { input: { prompt: {}, colour: {} } }],
    ['one value of count', { input: { count: { max: 1, default: 1 } } }],
    ['more than 16 outputs', { input: { count: { max: 17, default: 1 } } }],
    ['an empty list of values', { input: { mode: { values: [], default: 'a' } } }],
    ['a value with a space', { input: { mode: { values: ['a b'], default: 'a b' } } }],
    ['half a second', { input: { duration_seconds: { min: 0.5, max: 2, default: 1 } } }],
    ['no media type', { outputs: { mediaTypes: [] } }],
    ['a media type that is none', { outputs: { mediaTypes: ['mp4'] } }],
    ['an endless deadline', { deadlineSeconds: { default: 60, max: 2_592_001 } }],
    ['no expected duration', { expectedDurationSeconds: 0 }],
  ])('refuses %s', (_name, over) => {
    expect(fits({})).toBe(true);
    expect(fits(over)).toBe(false);
  });

  it('is a list of one to a thousand', () => {
    expect(catalogueSchema.safeParse({ models: [] }).success).toBe(false);
    expect(catalogueSchema.safeParse({ models: Array.from({ length: 1_000 }, () => model) }).success).toBe(
      true,
    );
    expect(catalogueSchema.safeParse({ models: Array.from({ length: 1_001 }, () => model) }).success).toBe(
      false,
    );
    expect(catalogueSchema.safeParse({ models: [model], version: 1 }).success).toBe(false);
  });
});

describe('priceRuleSchema', () => {
  const rate = { millicredits: 1 };
  const adjustment = { when: {}, percent: 100 };
  const rule = { per: 'second', rates: [rate], adjustments: [adjustment] };
  const ok = (over: object) => priceRuleSchema.safeParse({ ...rule, ...over }).success;
  const times = (count: number, one: object) => Array.from({ length: count }, () => one);

  it.each([
    ['per output', { per: 'output' }, true],
    ['per thousand characters', { per: 'thousand_characters' }, true],
    ['per hour', { per: 'hour' }, false],
    ['no rate', { rates: [] }, false],
    ['a hundred rates', { rates: times(100, rate) }, true],
    ['more rates', { rates: times(101, rate) }, false],
    ['twenty adjustments', { adjustments: times(20, adjustment) }, true],
    ['more adjustments', { adjustments: times(21, adjustment) }, false],
    ['a rate of nothing', { rates: [{ millicredits: 0 }] }, false],
    ['a rate below nothing', { rates: [{ millicredits: -5 }] }, false],
    ['half a millicredit', { rates: [{ millicredits: 0.5 }] }, false],
    ['a rate as text', { rates: [{ millicredits: '5' }] }, false],
    ['a billion credits', { rates: [{ millicredits: 10 ** 12 }] }, true],
    ['more than a billion credits', { rates: [{ millicredits: 10 ** 12 + 1 }] }, false],
    ['an unknown field of a rate', { rates: [{ ...rate, credits: 1 }] }, false],
    ['a condition on every field', { rates: [{ ...rate, when: every() }] }, true],
    ['a condition on a quantity', { rates: [{ ...rate, when: { duration_seconds: '5' } }] }, false],
    ['a condition on a number', { rates: [{ ...rate, when: { resolution: 5 } }] }, false],
    ['an adjustment without a condition', { adjustments: [{ percent: 100 }] }, false],
    ['0 %', { adjustments: [{ when: {}, percent: 0 }] }, false],
    ['1 %', { adjustments: [{ when: {}, percent: 1 }] }, true],
    ['half a percent', { adjustments: [{ when: {}, percent: 0.5 }] }, false],
    ['10,000 %', { adjustments: [{ when: {}, percent: 10_000 }] }, true],
    ['more than 10,000 %', { adjustments: [{ when: {}, percent: 10_001 }] }, false],
    ['an unknown field of an adjustment', { adjustments: [{ ...adjustment, factor: 2 }] }, false],
    ['an unknown field', { rounding: 'down' }, false],
  ])('%s: %#', (_name, over, valid) => {
    expect(ok(over)).toBe(valid);
  });

  function every(): object {
    return { resolution: 'a', aspect_ratio: 'a', mode: 'a', voice: 'a', audio: true, upscale: false };
  }

  it('has no adjustment by default, and a rate that always holds', () => {
    expect(priceRuleSchema.parse({ per: 'output', rates: [rate] })).toEqual({
      per: 'output',
      rates: [{ when: {}, millicredits: 1 }],
      adjustments: [],
    });
  });

  it('says what a condition must be', () => {
    const { error } = priceRuleSchema.safeParse({ ...rule, rates: [{ ...rate, when: { mode: 5 } }] });
    expect(error?.issues).toMatchObject([
      {
        path: ['rates', 0, 'when', 'mode'],
        message: 'must be a value of that field: a text, true or false',
      },
    ]);
  });
});

describe('costRuleSchema', () => {
  const cost = { per: 'second', amount: '0.05', unit: 'USD' };

  it.each([
    ['a whole amount', { amount: '20' }, true],
    ['nothing', { amount: '0' }, true],
    ['twelve digits and ten decimals', { amount: `${'9'.repeat(12)}.${'9'.repeat(10)}` }, true],
    ['thirteen digits', { amount: '9'.repeat(13) }, false],
    ['eleven decimals', { amount: `0.${'9'.repeat(11)}` }, false],
    ['a comma', { amount: '0,05' }, false],
    ['a point alone', { amount: '5.' }, false],
    ['no digit before the point', { amount: '.5' }, false],
    ['an exponent', { amount: '1e3' }, false],
    ['less than nothing', { amount: '-1' }, false],
    ['text around', { amount: ' 1' }, false],
    ['a line more', { amount: '1\n' }, false],
    ['a number', { amount: 0.05 }, false],
    ['a unit of its own', { unit: 'provider-credits_2' }, true],
    ['no unit', { unit: '' }, false],
    ['a unit that begins with a digit', { unit: '2credits' }, false],
    ['a unit with a space', { unit: 'US dollars' }, false],
    ['a long unit', { unit: 'u'.repeat(33) }, false],
    ['per thousand characters', { per: 'thousand_characters' }, true],
    ['per output', { per: 'output' }, true],
    ['per job', { per: 'job' }, false],
    ['an unknown field', { currency: 'USD' }, false],
  ])('%s: %#', (_name, over, valid) => {
    expect(costRuleSchema.safeParse({ ...cost, ...over }).success).toBe(valid);
  });

  it('says how an amount is written', () => {
    expect(costRuleSchema.safeParse({ ...cost, amount: '0,05' }).error?.issues).toMatchObject([
      { message: 'must be a decimal number as text, like "0.05"' },
    ]);
  });
});
