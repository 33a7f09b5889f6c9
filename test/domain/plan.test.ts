import { describe, expect, it } from 'vitest';
import { modelSchema } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { inputSchema } from '../../src/domain/input-schema.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { freezePlan, planSchema, type FrozenPlan } from '../../src/domain/plan.ts';
import { priceOf } from '../../src/domain/pricing.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import type { Model } from '../../src/domain/catalogue.ts';

const sample: JsonObject = {
  prompt: 'a cat',
  text: 'Your table is ready.',
  image_url: 'https://example.com/a.png',
};

/** As create does it: the input with its defaults, priced, on all routes. */
function freeze(model: Model, over: JsonObject = {}): FrozenPlan {
  const asked = Object.entries({ ...sample, ...over }).filter(([field]) => field in model.input);
  const input = inputSchema(model).parse(Object.fromEntries(asked)) as JsonObject;
  return freezePlan({
    model,
    routes: model.routes,
    providerChosen: false,
    input,
    price: priceOf(model.price, input),
  });
}
const model = (id: string) => DEFAULT_CATALOGUE.models.find((each) => each.id === id)!;

describe('freezePlan', () => {
  it('keeps what was sold, with every time filled in', () => {
    const plan = freeze(model('infro-video'), { duration_seconds: 7 });
    const { timings, ...sold } = plan;
    expect(sold).toEqual({
      method: 'text-to-video',
      routes: [
        {
          provider: 'infro',
          providerModel: 'm-video',
          callbacks: true,
          params: {},
          estimatedCost: { amount: '0.35', unit: 'USD' },
        },
      ],
      expectedDurationSeconds: 60,
      outputs: { count: 1, mediaTypes: ['video/mp4'], maxBytes: 2_147_483_648 },
      creditsTotal: 140,
      creditsPerOutput: 140,
      pricedSeconds: 7,
      providerChosen: false,
      price: { per: 'second', rates: [{ when: {}, millicredits: 20_000 }], adjustments: [] },
    });
    expect(timings).toEqual(timingsSchema.parse({}));
    expect(timings).toMatchObject({
      submitLeaseMs: 40_000,
      deadlineGraceMs: 30_000,
      replayWindowMs: 86_400_000,
    });
  });

  it('has the price of one output, the number of them and what each route is expected to cost', () => {
    expect(freeze(model('quick-image'), { count: 3 })).toMatchObject({
      outputs: { count: 3, mediaTypes: ['image/png'], maxBytes: 67_108_864 },
      creditsTotal: 9,
      creditsPerOutput: 3,
      pricedSeconds: null,
      routes: [
        { provider: 'fal', params: {}, estimatedCost: { amount: '0.009', unit: 'USD' } },
        {
          provider: 'replicate',
          params: { output_format: 'png' },
          estimatedCost: { amount: '0.009', unit: 'USD' },
        },
      ],
    });
    expect(freeze(model('standard-video')).routes.map(({ estimatedCost }) => estimatedCost)).toEqual([
      { amount: '0.25', unit: 'USD' },
      null,
      null,
    ]);
  });

  it('takes the routes that this generation may use, and that the tenant chose them', () => {
    const sold = model('cinema-video');
    const input = inputSchema(sold).parse({ prompt: 'a cat' }) as JsonObject;
    const price = priceOf(sold.price, input);
    const routes = sold.routes.filter(({ provider }) => provider === 'fal');
    const plan = freezePlan({ model: sold, routes, providerChosen: true, input, price });
    expect(plan.routes.map(({ provider }) => provider)).toEqual(['fal']);
    expect(plan.providerChosen).toBe(true);
  });

  it('is read back from its row as it was frozen, for every model of the catalogue', () => {
    for (const each of DEFAULT_CATALOGUE.models) {
      const plan = freeze(each);
      expect(planSchema.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
    }
  });

  it('does not follow a catalogue that changes afterwards', () => {
    const own = modelSchema.parse(JSON.parse(JSON.stringify(model('infro-video'))));
    const text = JSON.stringify(freeze(own));
    own.timings.pollMaxMs = 1;
    own.price.rates[0]!.millicredits = 1;
    own.routes[0]!.providerModel = 'other';
    expect(JSON.parse(text)).toEqual(freeze(model('infro-video')));
  });
});

describe('planSchema', () => {
  const plan = freeze(model('infro-video'));

  it.each([
    ['no credits', { creditsTotal: 0 }],
    ['half a credit', { creditsTotal: 1.5 }],
    ['outputs for nothing', { creditsPerOutput: 0 }],
    ['no route', { routes: 'infro' }],
    ['an empty list of routes', { routes: [] }],
    ['a route without a provider', { routes: [{ providerModel: 'm' }] }],
    ['a route with an empty provider', { routes: [{ provider: '', providerModel: 'm' }] }],
    ['a route with an empty model', { routes: [{ provider: 'infro', providerModel: '' }] }],
    ['a time that is no time', { timings: { pollMaxMs: -1 } }],
    ['no output', { outputs: { count: 0, mediaTypes: [], maxBytes: 1 } }],
    ['an output of no size', { outputs: { count: 1, mediaTypes: [], maxBytes: 0 } }],
    ['an unknown method', { method: 'text-to-nothing' }],
    ['an expected duration of nothing', { expectedDurationSeconds: 0 }],
  ])('a row with %s is not read as a plan', (_name, change) => {
    expect(planSchema.safeParse({ ...plan, ...change }).success).toBe(false);
  });

  it('passes over what a newer version has added, so that a rollback reads it', () => {
    const newer = {
      ...plan,
      surprise: true,
      timings: { ...plan.timings, fromANewerVersion: 1 },
      routes: plan.routes.map((route) => ({ ...route, region: 'eu' })),
      outputs: { ...plan.outputs, minBytes: 1 },
    };
    expect(planSchema.parse(newer)).toEqual(plan);
  });

  it('passes over a price rule of a newer kind, since it is never computed with again', () => {
    const { price: _, ...rest } = plan;
    expect(planSchema.parse({ ...plan, price: { per: 'frame' } })).toEqual({ ...rest, price: null });
  });

  it('reads a plan of version 0.1', () => {
    const { timings, expectedDurationSeconds, outputs } = plan;
    const first = {
      method: 'text-to-video',
      routes: [{ provider: 'infro', providerModel: 'm-video', callbacks: false }],
      timings,
      expectedDurationSeconds,
      outputs: { count: 2, mediaTypes: ['video/mp4'], maxBytes: 2_147_483_648 },
      creditsTotal: 100,
    };
    expect(planSchema.parse(first)).toEqual({
      ...first,
      outputs: { ...outputs, count: 2 },
      routes: [
        {
          provider: 'infro',
          providerModel: 'm-video',
          callbacks: false,
          params: {},
          estimatedCost: null,
        },
      ],
      pricedSeconds: null,
      providerChosen: false,
      price: null,
    });
    expect(planSchema.parse({ ...first, routes: [{ provider: 'infro', providerModel: 'm' }] })).toMatchObject(
      {
        routes: [{ callbacks: true }],
      },
    );
  });
});
