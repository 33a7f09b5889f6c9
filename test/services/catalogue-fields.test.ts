import { describe, expect, it } from 'vitest';
import { fileOf, problemsIn, writtenModel } from './catalogue-file.ts';

/** The only problem of a model with these fields, with the text of the line that it names. */
function only(over: Record<string, unknown>): readonly [line: string | undefined, problem: string] {
  const text = fileOf(writtenModel({ id: 'first' }), writtenModel(over));
  const problems = problemsIn(text);
  expect(problems).toHaveLength(1);
  const [, line, problem] = /^models\.json:(\d+) models\[1\]\.?(.*)$/.exec(problems[0]!)!;
  return [text.split('\n')[Number(line) - 1]?.trim(), problem!];
}
const { input } = writtenModel();
const routes = (over: object) => ({ routes: [{ provider: 'infro', providerModel: 'm', ...over }] });
const fields = (over: object) => ({ input: { ...input, ...over } });
const rates = (...list: object[]) => ({ price: { per: 'second', rates: list } });

describe('a field of the file that is wrong, by line and name', () => {
  it.each<[string, Record<string, unknown>, string, string]>([
    ['unknown', { colour: 1 }, '"colour": 1', 'colour: there is no such field'],
    [
      'unknown, of a route',
      routes({ region: 'eu' }),
      '"region": "eu"',
      'routes[0].region: there is no such field',
    ],
    ['unknown, of the input', fields({ camera: {} }), '"camera": {}', 'input.camera: there is no such field'],
    [
      'unknown, of a rate',
      rates({ credits: 1, millicredits: 1 }),
      '"credits": 1,',
      'price.rates[0].credits: there is no such field',
    ],
    [
      'unknown, of a condition',
      rates({ when: { camera: 'x' }, millicredits: 1 }),
      '"camera": "x"',
      'price.rates[0].when.camera: there is no such field',
    ],
    [
      'unknown, of the times',
      { timings: { pollMs: 5 } },
      '"pollMs": 5',
      'timings.pollMs: there is no such field',
    ],
    ['missing', { title: undefined }, '{', 'title: is missing'],
    [
      'missing, inside',
      { deadlineSeconds: { max: 60 } },
      '"deadlineSeconds": {',
      'deadlineSeconds.default: is missing',
    ],
    [
      'a missing default of seconds',
      fields({ duration_seconds: { min: 1, max: 5 } }),
      '"duration_seconds": {',
      'input.duration_seconds.default: is missing',
    ],
    [
      'a missing default of values',
      fields({ duration_seconds: { values: [5] } }),
      '"duration_seconds": {',
      'input.duration_seconds.default: is missing',
    ],
    [
      'a missing default of a choice',
      fields({ resolution: { values: ['720p', '1080p'] } }),
      '"resolution": {',
      'input.resolution.default: is missing',
    ],
    ['a missing default of a flag', fields({ audio: {} }), '"audio": {}', 'input.audio.default: is missing'],
    [
      'a missing default of count',
      fields({ count: { max: 4 } }),
      '"count": {',
      'input.count.default: is missing',
    ],
    [
      'of a wrong type',
      { title: 5 },
      '"title": 5,',
      'title: Invalid input: expected string, received number',
    ],
    [
      'of a wrong type, inside alternatives',
      fields({ duration_seconds: { min: 1, max: '15', default: 5 } }),
      '"max": "15",',
      'input.duration_seconds.max: Invalid input: expected number, received string',
    ],
    [
      'none of the alternatives',
      fields({ duration_seconds: 5 }),
      '"duration_seconds": 5,',
      'input.duration_seconds: needs min, max and default, or values and default',
    ],
    [
      'a fraction',
      rates({ millicredits: 1.5 }),
      '"millicredits": 1.5',
      'price.rates[0].millicredits: Invalid input: expected int, received number',
    ],
    [
      'zero',
      rates({ millicredits: 0 }),
      '"millicredits": 0',
      'price.rates[0].millicredits: Too small: expected number to be >=1',
    ],
    [
      'no condition',
      rates({ when: { resolution: 5 }, millicredits: 1 }),
      '"resolution": 5',
      'price.rates[0].when.resolution: must be a value of that field: a text, true or false',
    ],
    [
      'no unit of a price',
      { price: { per: 'hour', rates: [{ millicredits: 1 }] } },
      '"per": "hour",',
      'price.per: Invalid option: expected one of "second"|"output"|"thousand_characters"',
    ],
    [
      'no decimal',
      routes({ cost: { per: 'second', amount: '0,05', unit: 'USD' } }),
      '"amount": "0,05",',
      'routes[0].cost.amount: must be a decimal number as text, like "0.05"',
    ],
    ['an empty list', { routes: [] }, '"routes": [],', 'routes: Too small: expected array to have >=1 items'],
    ['an empty input', { input: {} }, '"input": {},', 'input: names at least one field'],
    [
      'a time of nothing',
      { timings: { pollMaxMs: 0 } },
      '"pollMaxMs": 0',
      'timings.pollMaxMs: Too small: expected number to be >0',
    ],
  ])('%s', (_name, over, line, problem) => {
    expect(only(over)).toEqual([line, problem]);
  });

  it('all of them are named at once', () => {
    const text = fileOf(writtenModel({ colour: 1, shape: 2, title: '' }), writtenModel({ id: 'B' }));
    expect(
      problemsIn(text).map((problem) => problem.replace(/^models\.json:\d+ ([^:]+): .*$/, '$1')),
    ).toEqual(['models[0].title', 'models[0].colour', 'models[0].shape', 'models[1].id']);
  });
});
