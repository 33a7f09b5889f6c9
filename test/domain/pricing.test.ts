import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { inputSpecSchema } from '../../src/domain/input-fields.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { priceRuleSchema } from '../../src/domain/price-rule.ts';
import { pricedInputs, pricedSeconds, priceOf, valuesOf } from '../../src/domain/pricing.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const perSecond = (millicredits: number, ...percents: number[]) =>
  priceRuleSchema.parse({
    per: 'second',
    rates: [{ millicredits }],
    adjustments: percents.map((percent) => ({ when: {}, percent })),
  });
const perOutput = (millicredits: number, ...percents: number[]) => ({
  ...perSecond(millicredits, ...percents),
  per: 'output' as const,
});
const perText = (millicredits: number) => ({
  ...perSecond(millicredits),
  per: 'thousand_characters' as const,
});

describe('priceOf, by hand over the default catalogue', () => {
  it.each<[string, JsonObject, number, number]>([
    ['infro-video', { duration_seconds: 5 }, 100, 1],
    ['infro-video', { duration_seconds: 15 }, 300, 1],
    // 22.5 a second: 112.5 becomes 113.
    ['standard-video', { duration_seconds: 5 }, 113, 1],
    ['standard-video', { duration_seconds: 10 }, 225, 1],
    ['cinema-video', { duration_seconds: 5, resolution: '720p', audio: false }, 200, 1],
    ['cinema-video', { duration_seconds: 5, resolution: '720p', audio: true }, 300, 1],
    ['cinema-video', { duration_seconds: 10, resolution: '1080p', audio: false }, 600, 1],
    ['cinema-video', { duration_seconds: 10, resolution: '1080p', audio: true }, 900, 1],
    ['animate-image', { duration_seconds: 5 }, 175, 1],
    // 2.5 each becomes 3 each: 12, never the 10 of a rounded sum.
    ['quick-image', { count: 1 }, 3, 1],
    ['quick-image', { count: 4 }, 12, 4],
    // 30 for a thousand characters: 0.6, 0.99, 1.02, 30 and 30.03.
    ['clear-speech', { text: 'Your table is ready.' }, 1, 1],
    ['clear-speech', { text: 'x'.repeat(33) }, 1, 1],
    ['clear-speech', { text: 'x'.repeat(34) }, 2, 1],
    ['clear-speech', { text: 'x'.repeat(1_000) }, 30, 1],
    ['clear-speech', { text: 'x'.repeat(1_001) }, 31, 1],
  ])('%s %j costs %i', (id, input, credits, outputs) => {
    const model = DEFAULT_CATALOGUE.models.find((each) => each.id === id)!;
    expect(priceOf(model.price, input)).toEqual({ credits, creditsPerOutput: credits / outputs, outputs });
  });
});

describe('priceOf: one rounding, upwards, for each output', () => {
  it.each([
    ['a thousandth', perOutput(1), {}, 1],
    ['0.333 three times', perOutput(333), { count: 3 }, 3],
    ['1.001 three times', perOutput(1_001), { count: 3 }, 6],
    ['a third of ten: 3.3', perOutput(10_000, 33), {}, 4],
    ['33 % of a hundred is no fraction', perOutput(100_000, 33), {}, 33],
    // Rounded in between it would be 5 and then 8.
    ['150 % twice of 3: 6.75', perOutput(3_000, 150, 150), {}, 7],
    ['150 % and 66 % of 1: 0.99', perOutput(1_000, 150, 66), {}, 1],
    // Rounded by the second it would be 150.
    ['0.01 a second for 150 s: 1.5', perSecond(10), { duration_seconds: 150 }, 2],
    ['half of 1 a second for 10 s', perSecond(1_000, 50), { duration_seconds: 10 }, 5],
    ['10,000 % of 1', perOutput(1_000, 10_000), {}, 100],
    ['1 % of 1 %', perOutput(1_000_000_000, 1, 1), {}, 100],
  ])('%s', (_name, rule, input, credits) => {
    expect(priceOf(rule, input).credits).toBe(credits);
  });

  it.each([
    ['an emoji is one character', '😀'.repeat(500), 500],
    ['a family is its five code points', '👩‍👩‍👧', 5],
    ['a combined letter is two', 'e\u0301', 2],
    ['half a surrogate pair is one', '\ud83d', 1],
    ['halves in the wrong order are two', '\ude00\ud83d', 2],
  ])('%s', (_name, text, characters) => {
    expect(priceOf(perText(1_000_000), { text }).credits).toBe(characters);
  });
});

describe('priceOf: which rate and which adjustments', () => {
  const rule = priceRuleSchema.parse({
    per: 'output',
    rates: [
      { when: { resolution: '4k', audio: true }, millicredits: 9_000 },
      { when: { resolution: '4k' }, millicredits: 7_000 },
      { millicredits: 2_000 },
    ],
    adjustments: [
      { when: { upscale: true }, percent: 200 },
      { when: { upscale: true, audio: false }, percent: 150 },
    ],
  });

  it.each([
    [{ resolution: '4k', audio: true, upscale: false }, 9],
    [{ resolution: '4k', audio: false, upscale: false }, 7],
    [{ resolution: '720p', audio: true, upscale: false }, 2],
    [{ resolution: '720p', audio: true, upscale: true }, 4],
    [{ resolution: '720p', audio: false, upscale: true }, 6],
    [{ resolution: '4k', audio: 'true', upscale: 1 }, 7],
    [{}, 2],
  ])('%j costs %i', (input, credits) => {
    expect(priceOf(rule, input).credits).toBe(credits);
  });
});

describe('priceOf: what has no price', () => {
  const NOT_WHOLE = 'the price is not a whole number of credits from 1 to 2^53 − 1';

  it('goes to 2^53 − 1 and not beyond', () => {
    expect(priceOf(perSecond(1_000), { duration_seconds: MOST }).credits).toBe(MOST);
    expect(() => priceOf(perSecond(1_001), { duration_seconds: MOST })).toThrow(new RangeError(NOT_WHOLE));
    // 10^9 credits a second.
    expect(priceOf(perSecond(10 ** 12), { duration_seconds: 9_007_199 }).credits).toBe(9_007_199_000_000_000);
    expect(() => priceOf(perSecond(10 ** 12), { duration_seconds: 9_007_200 })).toThrow(NOT_WHOLE);
  });

  it('counts all outputs against it', () => {
    expect(() => priceOf(perSecond(1_000), { duration_seconds: MOST, count: 2 })).toThrow(NOT_WHOLE);
  });

  it('is never free', () => {
    expect(() => priceOf(perSecond(1_000), { duration_seconds: 0 })).toThrow(NOT_WHOLE);
    expect(() => priceOf(perOutput(1_000), { count: 0 })).toThrow(NOT_WHOLE);
    expect(() => priceOf(perText(1_000), { text: '' })).toThrow(NOT_WHOLE);
  });

  it('an input that no rate is for', () => {
    const rule = priceRuleSchema.parse({
      per: 'output',
      rates: [{ when: { mode: 'fast' }, millicredits: 1 }],
    });
    expect(() => priceOf(rule, { mode: 'best' })).toThrow(
      new RangeError('the price rule has no rate for this input'),
    );
  });

  it.each([{}, { duration_seconds: '5' }, { duration_seconds: 1.5 }, { duration_seconds: -1 }])(
    'seconds that are %j',
    (input) => {
      expect(() => priceOf(perSecond(1), input)).toThrow(
        new RangeError('the price needs the input field "duration_seconds", a whole number'),
      );
    },
  );

  it.each([{}, { text: 5 }, { text: null }])('text that is %j', (input) => {
    expect(() => priceOf(perText(1), input)).toThrow(
      new RangeError('the price needs the input field "text"'),
    );
  });

  it('a count that is no whole number', () => {
    expect(() => priceOf(perOutput(1), { count: 2 ** 53 })).toThrow(/needs the input field "count", a whole/);
  });
});

describe('pricedSeconds', () => {
  const [model] = DEFAULT_CATALOGUE.models;
  const image = DEFAULT_CATALOGUE.models.find(({ id }) => id === 'quick-image')!;

  it('are those of the input, and null where the model has none', () => {
    expect(pricedSeconds(model!, { duration_seconds: 7 })).toBe(7);
    expect(pricedSeconds(image, { duration_seconds: 7 })).toBeNull();
    expect(() => pricedSeconds(model!, {})).toThrow(/duration_seconds/);
  });
});

describe('pricedInputs', () => {
  const spec = inputSpecSchema.parse({
    prompt: {},
    duration_seconds: { values: [10, 5, 7], default: 5 },
    resolution: { values: ['720p', '1080p'], default: '720p' },
    mode: { values: ['fast', 'best'], default: 'fast' },
    audio: { default: false },
    count: { max: 4, default: 2 },
    text: { maxCharacters: 3 },
  });
  const rule = priceRuleSchema.parse({
    per: 'second',
    rates: [{ when: { resolution: '1080p' }, millicredits: 2 }, { millicredits: 1 }],
    adjustments: [{ when: { audio: true, resolution: '720p' }, percent: 50 }],
  });
  const least = { duration_seconds: 5, text: 'x', count: 1 };
  const most = { duration_seconds: 10, text: 'xxx', count: 4 };

  it('are the ends of each quantity with every value that the rule asks about', () => {
    const choices = (ends: JsonObject) =>
      ['720p', '1080p'].flatMap((resolution) =>
        [false, true].map((audio) => ({ ...ends, resolution, audio })),
      );
    expect(pricedInputs(spec, rule, 8)).toEqual([...choices(least), ...choices(most)]);
  });

  it('are null when they are more than asked for', () => {
    expect(pricedInputs(spec, rule, 7)).toBeNull();
  });

  it('of a range are its ends; a model without quantities has empty ones', () => {
    const seconds = inputSpecSchema.parse({ duration_seconds: { min: 2, max: 9, default: 3 } });
    expect(pricedInputs(seconds, perSecond(1), 2)).toEqual([
      { duration_seconds: 2 },
      { duration_seconds: 9 },
    ]);
    expect(pricedInputs(inputSpecSchema.parse({ prompt: {} }), perOutput(1), 2)).toStrictEqual([{}, {}]);
  });

  it.each([
    ['resolution', ['720p', '1080p']],
    ['audio', [false, true]],
    ['duration_seconds', []],
    ['prompt', []],
    ['count', []],
    ['voice', []],
  ])('%s can have the values %j in a condition', (field, values) => {
    expect(valuesOf(spec, field)).toEqual(values);
  });
});
