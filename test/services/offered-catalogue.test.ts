import { describe, expect, test } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { offeredCatalogue } from '../../src/services/offered-catalogue.ts';

describe('offeredCatalogue', () => {
  const [first] = DEFAULT_CATALOGUE.models;
  const route = (provider: string) => ({ ...first!.routes[0]!, provider });
  const model = (id: string, ...providers: string[]) => ({ ...first!, id, routes: providers.map(route) });
  const catalogue = { models: [model('both', 'a', 'b'), model('only-b', 'b'), model('none', 'c', 'd')] };

  test('routes to providers without a key are left out, in order; a model without any is not offered', () => {
    const { catalogue: offered, ...dropped } = offeredCatalogue(catalogue, new Set(['b', 'x']));
    expect(offered).toEqual({ models: [model('both', 'b'), model('only-b', 'b')] });
    expect(dropped).toEqual({ missingProviders: ['a', 'c', 'd'], droppedModels: ['none'] });
  });

  test('all there: nothing changes; none there: nothing is offered', () => {
    expect(offeredCatalogue(catalogue, new Set(['a', 'b', 'c', 'd']))).toEqual({
      catalogue,
      missingProviders: [],
      droppedModels: [],
    });
    expect(offeredCatalogue(catalogue, new Set())).toEqual({
      catalogue: { models: [] },
      missingProviders: ['a', 'b', 'c', 'd'],
      droppedModels: ['both', 'only-b', 'none'],
    });
  });
});
