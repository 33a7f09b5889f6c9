/** What a route is expected to cost where that depends on the input: the rule, its checks, and the default catalogue's. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { costRuleSchema } from '../../src/domain/price-rule.ts';
import { estimateCost, priceOf } from '../../src/domain/pricing.ts';
import { bflModel, imageCredits, megapixels, videoCredits } from '../../src/simulators/bfl-models.ts';
import { fileOf, problemsIn, writtenModel } from './catalogue-file.ts';

const cost = { per: 'second', amount: '17', unit: 'credits' } as const;
const rate = (when: object, amount: unknown = '28.9') => ({ when, amount });
const modelOf = (id: string) => DEFAULT_CATALOGUE.models.find((model) => model.id === id)!;

describe('a cost with rates', () => {
  const rates = [rate({ resolution: 'fhd', audio: true }, '30'), rate({ resolution: 'fhd' })];
  it.each<[JsonObject, string]>([
    [{ resolution: 'hd' }, '85'],
    [{ resolution: 'fhd', audio: false }, '144.5'],
    [{ resolution: 'fhd', audio: true }, '150'],
    [{}, '85'],
    [{ resolution: 'fhd', audio: true, count: 2 }, '300'],
  ])('%j: the first rate that holds, else the amount', (input, amount) => {
    const rule = costRuleSchema.parse({ ...cost, rates });
    expect(estimateCost(rule, { duration_seconds: 5, ...input })).toEqual({ amount, unit: 'credits' });
  });

  it.each([
    ['none', [], true],
    ['a hundred', Array.from({ length: 100 }, () => rate({ resolution: 'fhd' })), true],
    ['more', Array.from({ length: 101 }, () => rate({ resolution: 'fhd' })), false],
    ['an amount that is a number', [rate({ resolution: 'fhd' }, 28.9)], false],
    ['a condition on a quantity', [rate({ duration_seconds: '5' })], false],
    ['no condition', [{ amount: '1' }], false],
    ['a unit of its own', [{ ...rate({ resolution: 'fhd' }), unit: 'USD' }], false],
  ])('%s: %#', (_name, list, valid) => {
    expect(costRuleSchema.safeParse({ ...cost, rates: list }).success).toBe(valid);
  });

  const problems = (...list: object[]) =>
    problemsIn(
      fileOf(
        writtenModel({
          routes: [{ provider: 'infro', providerModel: 'm', cost: { ...cost, rates: list } }],
        }),
      ),
    ).map((problem) => problem.replace(/^models\.json:\d+ models\[0\]\./, ''));
  it.each([
    [[rate({ resolution: '1080p' })], []],
    [
      [rate({ resolution: '4k' })],
      ['routes[0].cost.rates[0].when.resolution: "4k" is not a value of "resolution": 720p, 1080p'],
    ],
    [[rate({ voice: 'Maya' })], ['routes[0].cost.rates[0].when.voice: the model has no input field "voice"']],
    [
      [rate({ resolution: '1080p' }), rate({ resolution: '1080p', audio: true })],
      ['routes[0].cost.rates[1]: is never used: rates[0] always holds first'],
    ],
  ])('%j is checked as the rates of a price are', (list, found) => {
    expect(problems(...list)).toEqual(found);
  });
});

describe('the default catalogue expects what BFL bills', () => {
  const estimated = (id: string, input: JsonObject) =>
    Number(estimateCost(modelOf(id).routes[0]!.cost, input)!.amount);

  it.each([
    ['hd', 5],
    ['hd', 20],
    ['fhd', 5],
    ['fhd', 20],
  ])('flux-video in %s, %i s', (resolution, seconds) => {
    const billed = videoCredits(bflModel('flux-3-video')!, seconds, resolution === 'fhd');
    const input = { duration_seconds: seconds, resolution };
    expect(estimated('flux-video', input)).toBe(billed);
    expect(priceOf(modelOf('flux-video').price, input).credits).toBeGreaterThanOrEqual(2 * billed);
  });

  it.each([
    ['flux-image', 0],
    ['flux-edit', modelOf('flux-edit').input.image_url!.maxSide],
  ])('%s: the largest image that is taken', (id, side) => {
    const { routes, price } = modelOf(id);
    const billed = imageCredits(bflModel(routes[0]!.providerModel)!, 1, megapixels(side * side))!;
    expect(estimated(id, {})).toBe(billed);
    expect(priceOf(price, {}).credits).toBeGreaterThanOrEqual(2 * billed);
  });
});
