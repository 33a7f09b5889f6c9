import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { parseCatalogue } from '../../src/services/load-catalogue.ts';
import { catalogueCheck } from '../../src/services/rehearse-routes.ts';

const check = catalogueCheck(new Map());

/** The problems of a file with one model of the default catalogue, changed. */
function problemsOf(id: string, change: (model: JsonObject) => JsonObject): readonly string[] {
  const model = DEFAULT_CATALOGUE.models.find((candidate) => candidate.id === id);
  const models = [change(JSON.parse(JSON.stringify(model)) as JsonObject)];
  const read = parseCatalogue(JSON.stringify({ models }, null, 1), 'models.json', check);
  return 'problems' in read ? read.problems : [];
}

describe('a catalogue is rehearsed against its providers at the start', () => {
  it('every route of the default catalogue can be built, for every choice', () => {
    expect(check(DEFAULT_CATALOGUE)).toEqual([]);
  });

  it('a provider that there is not', () => {
    const routes = [{ provider: 'infroo', providerModel: 'm-video' }];
    expect(problemsOf('infro-video', (model) => ({ ...model, routes }))).toEqual([
      expect.stringMatching(
        /^models\.json:\d+ models\[0\]\.routes\[0\]\.provider: "infroo" is no provider; use one of infro, /,
      ),
    ]);
  });

  it('a method that the provider does not offer, a field that it does not take', () => {
    const routes = [{ provider: 'kling', providerModel: 'kling-3.0' }];
    expect(problemsOf('quick-image', (model) => ({ ...model, routes }))).toEqual([
      expect.stringContaining('models[0].routes[0].provider: kling does not offer text-to-image'),
    ]);
    const input = { prompt: {}, duration_seconds: { values: [5], default: 5 }, seed: {} };
    expect(problemsOf('infro-video', (model) => ({ ...model, input }))).toEqual([
      expect.stringContaining('models[0].input.seed: infro takes no "seed" for text-to-video'),
    ]);
  });

  it('params that clash with a field, found by building the request', () => {
    const routes = [{ provider: 'infro', providerModel: 'm-video', params: { prompt: 'mine' } }];
    const [problem, ...others] = problemsOf('infro-video', (model) => ({ ...model, routes }));
    expect(others).toEqual([]);
    expect(problem).toMatch(/^models\.json:\d+ models\[0\]\.routes\[0\]: .*prompt/);
  });

  it('a value of a choice that the provider’s model cannot be asked for', () => {
    const params = {
      $fields: { aspect_ratio: { name: 'image_size', values: { '1:1': 'square', '16:9': 'wide' } } },
    };
    const routes = [{ provider: 'fal', providerModel: 'fal-ai/flux/schnell', params }];
    expect(problemsOf('quick-image', (model) => ({ ...model, routes }))).toEqual([
      expect.stringMatching(/models\[0\]\.routes\[0\]: .*aspect_ratio of 9:16/),
    ]);
  });
});
