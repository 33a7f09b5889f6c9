import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { upload, useFiles } from './inputs.ts';
import { startApi, type TestApi } from './api.ts';
import { create, get, newTenant, sendJson, type TestTenant } from './tenants.ts';

const routes = [{ provider: 'infro', providerModel: 'm' }];
const deadlineSeconds = { default: 900, max: 3_600 };

/** Prices that leave fractions everywhere, beside those of the default catalogue. */
const CROOKED = catalogueSchema.parse({
  models: [
    {
      id: 'crooked-video',
      title: 'Thirds, and percents of percents',
      method: 'text-to-video',
      routes,
      input: {
        prompt: {},
        duration_seconds: { min: 1, max: 97, default: 7 },
        resolution: { values: ['720p', '1080p', '4k'], default: '720p' },
        mode: { values: ['fast', 'fine'], default: 'fast' },
        audio: { default: true },
        upscale: { default: false },
        count: { max: 7, default: 2 },
      },
      price: {
        per: 'second',
        rates: [
          { when: { mode: 'fine', upscale: true }, millicredits: 7_777 },
          { when: { resolution: '4k' }, millicredits: 3_333 },
          { when: { audio: true }, millicredits: 1 },
          { millicredits: 1_501 },
        ],
        adjustments: [
          { when: { audio: true }, percent: 133 },
          { when: { mode: 'fine' }, percent: 67 },
          { when: { resolution: '4k', upscale: true }, percent: 101 },
        ],
      },
      expectedDurationSeconds: 10,
      deadlineSeconds,
    },
    {
      id: 'crooked-speech',
      title: 'By the character',
      method: 'text-to-speech',
      routes,
      input: { text: { maxCharacters: 3_000 }, voice: { values: ['Ann', 'Bo'], default: 'Ann' } },
      price: {
        per: 'thousand_characters',
        rates: [{ millicredits: 29_999 }],
        adjustments: [{ when: { voice: 'Bo' }, percent: 151 }],
      },
      outputs: { mediaTypes: ['audio/wav'] },
      expectedDurationSeconds: 10,
      deadlineSeconds,
    },
  ],
});
const CATALOGUE = { models: [...DEFAULT_CATALOGUE.models, ...CROOKED.models] };

type Input = Readonly<Record<string, string | number | boolean>>;
interface Field {
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: string | number | boolean;
}
interface PublishedModel {
  readonly id: string;
  readonly input_schema: {
    readonly properties: Readonly<Record<string, Field>>;
    readonly required: readonly string[];
  };
  readonly price: {
    readonly per: 'second' | 'output' | 'thousand_characters';
    readonly rates: readonly { readonly when: Input; readonly millicredits: number }[];
    readonly adjustments: readonly { readonly when: Input; readonly percent: number }[];
  };
}

/**
 * The price as a frontend computes it: written from the words at the schema PriceRule of the API document alone, on what
 * GET /v1/models gives. It shares no code with the server.
 */
function priceByTheWords(model: PublishedModel, sent: Input): bigint {
  const { properties } = model.input_schema;
  const input: Record<string, unknown> = { ...sent };
  for (const [name, field] of Object.entries(properties)) {
    if (input[name] === undefined && field.default !== undefined) input[name] = field.default;
  }
  const fits = (when: Input) => Object.keys(when).every((name) => input[name] === when[name]);
  const { per, rates, adjustments } = model.price;
  let above = BigInt(rates.find(({ when }) => fits(when))!.millicredits);
  let below = 1_000n;
  if (per === 'second') above *= BigInt(input['duration_seconds'] as number);
  if (per === 'thousand_characters') {
    above *= BigInt(Array.from(input['text'] as string).length);
    below *= 1_000n;
  }
  for (const { when, percent } of adjustments.filter((adjustment) => fits(adjustment.when))) {
    expect(fits(when)).toBe(true);
    above *= BigInt(percent);
    below *= 100n;
  }
  const whole = above / below;
  const each = above % below === 0n ? whole : whole + 1n;
  return each * BigInt((input['count'] as number | undefined) ?? 1);
}

/** Any value that the published schema of a field allows. */
function valueOf(field: Field): fc.Arbitrary<string | number | boolean> {
  if (field.enum !== undefined) return fc.constantFrom(...field.enum);
  if (field.type === 'boolean') return fc.boolean();
  if (field.type === 'integer') return fc.integer({ min: field.minimum ?? 0, max: field.maximum ?? 1_000 });
  if (field.pattern?.includes('inp_') === true) return fc.constant(imageId);
  // Units of one to four code points, of one to eleven bytes.
  const unit = fc.constantFrom('a', 'ß', '界', '😊', '👩‍🚀', ' ');
  const most = Math.floor(((field.maxLength ?? 100) - 1) / 4);
  return fc
    .tuple(unit, fc.integer({ min: 0, max: most }))
    .map(([character, count]) => `x${character.repeat(count)}`);
}

function inputOf(model: PublishedModel): fc.Arbitrary<Input> {
  const { properties, required } = model.input_schema;
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, valueOf(field)]),
  );
  return fc.record(fields, { requiredKeys: [...required] }) as fc.Arbitrary<Input>;
}

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
let models: readonly PublishedModel[];
/** An upload that every model takes. */
let imageId: string;
const files = useFiles();
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 10, connectWithinMs: 60_000 });
  api = await startApi(db, { ...files.parts, catalogue: CATALOGUE });
  tenant = await newTenant(db, { credits: 1_000_000_000 });
  imageId = String((await upload(api.url, tenant)).json()['id']);
  models = (await get(api.url, tenant, '/v1/models')).json()['data'] as PublishedModel[];
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

describe('one price', () => {
  it('the rule in words, the quote and the credits held agree on any input', async () => {
    const agree = (model: PublishedModel) =>
      fc.asyncProperty(inputOf(model), async (input) => {
        const body = { model: model.id, input };
        const quoted = await sendJson(api.url, tenant.key, { path: '/v1/quotes', body });
        expect(quoted.status, quoted.text).toBe(200);
        const quote = quoted.json() as { credits: number; credits_per_output: number; outputs: number };
        const created = await create(api.url, tenant, { key: randomUUID(), body });
        expect(created.status, created.text).toBe(202);
        const { credits } = created.json() as { credits: { held: number } };
        const price = priceByTheWords(model, input);
        expect([BigInt(quote.credits), BigInt(credits.held)]).toEqual([price, price]);
        expect(quote.credits_per_output * quote.outputs).toBe(quote.credits);
      });
    for (const model of models) await fc.assert(agree(model), { numRuns: Math.ceil(200 / models.length) });
    const held = await db.prisma.hold.aggregate({ _sum: { amount: true }, where: { state: 'held' } });
    const balance = (await get(api.url, tenant, '/v1/credits')).json();
    expect(balance['held']).toBe(Number(held._sum.amount));
    expect(balance['available']).toBe(1_000_000_000 - Number(held._sum.amount));
  });

  it('by hand: rounded up once for each output, then multiplied', async () => {
    const quote = async (model: string, input: Input) =>
      (await sendJson(api.url, tenant.key, { path: '/v1/quotes', body: { model, input } })).json()['credits'];
    // 2.5 credits each, so 3; three of them 9, not 7.5 rounded.
    expect(await quote('quick-image', { prompt: 'x', count: 3 })).toBe(9);
    // 5 × 22.5 = 112.5
    expect(await quote('standard-video', { prompt: 'x' })).toBe(113);
    // 8 × 60 × 1.5
    const cinema = { prompt: 'x', duration_seconds: 8, resolution: '1080p', audio: true };
    expect(await quote('cinema-video', cinema)).toBe(720);
    // 3 characters of 4 bytes each: 3 × 30 / 1000 = 0.09
    expect(await quote('clear-speech', { text: '😊😊😊' })).toBe(1);
    expect(await quote('clear-speech', { text: 'x'.repeat(999) })).toBe(30);
    // 3.333 × 97 × 1.33 × 0.67 × 1.01 = 290.98…; the 7.777 of fine and upscaled comes first: 678.94…
    const fine = {
      prompt: 'x',
      duration_seconds: 97,
      resolution: '4k',
      mode: 'fine',
      upscale: true,
      count: 1,
    };
    expect(await quote('crooked-video', fine)).toBe(679);
  });
});
