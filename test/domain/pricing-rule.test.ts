import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import type { InputSpec } from '../../src/domain/input-fields.ts';
import { inputSchema } from '../../src/domain/input-schema.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { priceRuleSchema, type PriceRule } from '../../src/domain/price-rule.ts';
import { priceOf } from '../../src/domain/pricing.ts';

const RUNS = 10_000;
const TIMEOUT_MS = 60_000;
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * A frontend's own price, written from the words at `priceRuleSchema` alone: all it has is the rule as JSON and an input
 * with its defaults. Numbers of one output and of all; null where there is no rate.
 */
function frontendPrice(json: string, input: JsonObject): { each: bigint; total: bigint } | null {
  const rule = JSON.parse(json) as {
    per: string;
    rates: { when?: JsonObject; millicredits: number }[];
    adjustments?: { when: JsonObject; percent: number }[];
  };
  const fits = (when: JsonObject = {}) => !Object.keys(when).some((field) => when[field] !== input[field]);
  const rate = rule.rates.find(({ when }) => fits(when));
  if (rate === undefined) return null;
  const percents = (rule.adjustments ?? []).filter(({ when }) => fits(when)).map(({ percent }) => percent);
  const quantity = {
    second: () => BigInt(input['duration_seconds'] as number) * 1_000n,
    output: () => 1_000n,
    thousand_characters: () => BigInt(Array.from(input['text'] as string).length),
  }[rule.per]!();
  const dividend = percents.reduce(
    (product, percent) => product * BigInt(percent),
    BigInt(rate.millicredits),
  );
  const divisor = 1_000n * 1_000n * 100n ** BigInt(percents.length);
  const whole = (dividend * quantity) / divisor;
  const each = whole * divisor === dividend * quantity ? whole : whole + 1n;
  return { each, total: each * BigInt((input['count'] as number | undefined) ?? 1) };
}

const words = (maxCharacters: number) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }) },
    { weight: 1, arbitrary: fc.nat(maxCharacters - 1).map((n) => '😀'.repeat(n + 1)) },
  );

/** Inputs of a model as tenants send them: any field with a default may be left out. */
function inputs({ prompt, text, image_url, duration_seconds: duration, count, seed, ...rest }: InputSpec) {
  const choices = Object.entries(rest).map(([field, limits = {}]): [string, fc.Arbitrary<unknown>] => [
    field,
    'values' in limits
      ? fc.constantFrom(undefined, ...limits.values)
      : fc.constantFrom(undefined, true, false),
  ]);
  const perhaps = (arbitrary: fc.Arbitrary<unknown>) => fc.option(arbitrary, { nil: undefined });
  const fields: Record<string, fc.Arbitrary<unknown>> = {
    ...Object.fromEntries(choices),
    ...(prompt && { prompt: words(prompt.maxCharacters) }),
    ...(text && { text: words(text.maxCharacters) }),
    ...(image_url && { image_url: fc.constant('https://example.com/boat.png') }),
    ...(duration && {
      duration_seconds: perhaps(
        'values' in duration
          ? fc.constantFrom(...duration.values)
          : fc.integer({ min: duration.min, max: duration.max }),
      ),
    }),
    ...(count && { count: perhaps(fc.integer({ min: 1, max: count.max })) }),
    ...(seed && { seed: perhaps(fc.nat(seed.max)) }),
  };
  return fc.record(fields).map((input) => JSON.parse(JSON.stringify(input)) as JsonObject);
}

describe('a frontend gets the same figure from the rule as data', () => {
  const models = DEFAULT_CATALOGUE.models.map((model) => {
    const schema = inputSchema(model);
    const { properties = {} } = z.toJSONSchema(schema, { io: 'input' });
    const defaults = Object.entries(properties as Record<string, { default?: unknown }>)
      .filter(([, property]) => property.default !== undefined)
      .map(([field, property]) => [field, property.default]);
    return {
      rule: model.price,
      json: JSON.stringify(model.price),
      schema,
      inputs: inputs(model.input),
      defaults: Object.fromEntries(defaults) as JsonObject,
    };
  });
  const asked = fc.nat(models.length - 1).chain((at) => models[at]!.inputs.map((input) => ({ at, input })));

  it(
    'for 10,000 random inputs of the models of the default catalogue',
    () => {
      fc.assert(
        fc.property(asked, ({ at, input }) => {
          const { rule, json, schema, defaults } = models[at]!;
          const read = schema.safeParse(input);
          // White space alone is the only thing here that is no input.
          const blank = [input['prompt'], input['text']].some((value) => /^\s*$/.test(value as string));
          expect(read.success).toBe(!blank);
          if (!read.success) return;
          const price = priceOf(rule, read.data as JsonObject);
          const { each, total } = frontendPrice(json, { ...defaults, ...input })!;
          expect([BigInt(price.creditsPerOutput), BigInt(price.credits)]).toEqual([each, total]);
          expect(price.credits).toBe(price.creditsPerOutput * price.outputs);
          expect(price.credits).toBeGreaterThanOrEqual(1);
          expect(Number.isSafeInteger(price.credits)).toBe(true);
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT_MS,
  );
});

/** Rules over two fields, with large and small numbers, some of them without a rate for every input. */
const when = fc.record(
  { resolution: fc.constantFrom('720p', '1080p', '4k'), audio: fc.boolean() },
  { requiredKeys: [] },
);
const rules: fc.Arbitrary<PriceRule> = fc
  .record({
    per: fc.constantFrom('second', 'output', 'thousand_characters'),
    rates: fc.array(
      fc.record({
        when,
        millicredits: fc.oneof(fc.integer({ min: 1, max: 99_999 }), fc.integer({ min: 1, max: 10 ** 12 })),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    adjustments: fc.array(fc.record({ when, percent: fc.integer({ min: 1, max: 10_000 }) }), {
      maxLength: 6,
    }),
  })
  .map((rule) => priceRuleSchema.parse(rule));
const anyInput = fc.record({
  resolution: fc.constantFrom('720p', '1080p', '4k'),
  audio: fc.boolean(),
  duration_seconds: fc.integer({ min: 1, max: 86_400 }),
  text: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
  count: fc.integer({ min: 1, max: 16 }),
});

/** Credits of it, or why there are none. */
function credits(rule: PriceRule, input: JsonObject): bigint | 'no rate' | 'too large' {
  try {
    return BigInt(priceOf(rule, input).credits);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return (error as Error).message.includes('no rate') ? 'no rate' : 'too large';
  }
}

describe('any valid rule', () => {
  it(
    'gives the figure of a frontend, or says why it has none, for 10,000 random rules and inputs',
    () => {
      fc.assert(
        fc.property(rules, anyInput, (rule, input) => {
          const wanted = frontendPrice(JSON.stringify(rule), input);
          expect(credits(rule, input)).toBe(
            wanted === null ? 'no rate' : wanted.total > MOST ? 'too large' : wanted.total,
          );
        }),
        { numRuns: RUNS },
      );
    },
    TIMEOUT_MS,
  );

  it(
    'never costs less for longer, and exactly so many times as much for more outputs',
    () => {
      fc.assert(
        fc.property(rules, anyInput, fc.nat(3_600), (rule, input, more) => {
          const one = credits(rule, { ...input, count: 1 });
          if (typeof one === 'string') return;
          const longer = credits(rule, {
            ...input,
            count: 1,
            duration_seconds: input.duration_seconds + more,
            text: input.text + 'x'.repeat(more),
          });
          expect(longer === 'too large' || (typeof longer === 'bigint' && longer >= one)).toBe(true);
          const all = one * BigInt(input.count);
          expect(credits(rule, input)).toBe(all > MOST ? 'too large' : all);
        }),
        { numRuns: 2_000 },
      );
    },
    TIMEOUT_MS,
  );
});
