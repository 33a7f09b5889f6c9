import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import type { Answer } from './client.ts';
import { BODY, get, newTenant, rowsOf, sendJson, type TestTenant } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
let tenant: TestTenant;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 5, connectWithinMs: 60_000 });
  api = await startApi(db);
  tenant = await newTenant(db, { credits: 120 });
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

async function models(query = ''): Promise<Record<string, unknown>[]> {
  const answer = await get(api.url, tenant, `/v1/models${query}`);
  expect(answer.status).toBe(200);
  return answer.json()['data'] as Record<string, unknown>[];
}

describe('GET /v1/models', () => {
  it('lists every model with its providers, its input and its price as data', async () => {
    const all = await models();
    expect(all.map(({ id }) => id)).toEqual(DEFAULT_CATALOGUE.models.map(({ id }) => id));
    const cinema = all.find(({ id }) => id === 'cinema-video');
    expect(cinema).toEqual({
      id: 'cinema-video',
      object: 'model',
      title: 'Text to video with sound, in two resolutions',
      method: 'text-to-video',
      providers: ['kling', 'fal'],
      input_schema: expect.objectContaining({
        required: ['prompt'],
        additionalProperties: false,
      }) as object,
      price: {
        per: 'second',
        rates: [
          { when: { resolution: '1080p' }, millicredits: 60_000 },
          { when: {}, millicredits: 40_000 },
        ],
        adjustments: [{ when: { audio: true }, percent: 150 }],
      },
      outputs: { max_count: 1, media_types: ['video/mp4'] },
      paused: false,
      expected_duration_seconds: 180,
      deadline_seconds: { default: 1_800, min: 181, max: 7_200 },
    });
    const schema = cinema?.['input_schema'] as { properties: Record<string, object> };
    expect(schema.properties).toMatchObject({
      prompt: { type: 'string', minLength: 1, maxLength: 2_500 },
      duration_seconds: { enum: [4, 8], default: 8 },
      resolution: { enum: ['720p', '1080p'], default: '720p' },
      audio: { type: 'boolean', default: false },
    });
    expect(all.find(({ id }) => id === 'quick-image')).toMatchObject({
      outputs: { max_count: 4, media_types: ['image/png'] },
    });
    expect(JSON.stringify(all)).not.toMatch(/m-video|providerModel|routes|timings|params|cost|amount/);
  });

  it('with a provider: only the models that it may run', async () => {
    expect((await models('?provider=kling')).map(({ id }) => id)).toEqual(['cinema-video', 'animate-image']);
    const answer = await get(api.url, tenant, '/v1/models?provider=nobody');
    expect([answer.status, answer.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'invalid_query',
        errors: [{ path: '/provider', message: expect.stringContaining('infro, aigenway') as string }],
      }),
    ]);
    for (const query of ['?provider=', '?providers=infro', '?provider=infro&provider=fal']) {
      expect((await get(api.url, tenant, `/v1/models${query}`)).json()['code']).toBe('invalid_query');
    }
  });
});

function quote(body: unknown): Promise<Answer> {
  return sendJson(api.url, tenant.key, { path: '/v1/quotes', body });
}

describe('POST /v1/quotes', () => {
  it('prices the body of a generation, without an Idempotency-Key, and starts and holds nothing', async () => {
    const answer = await quote({
      model: 'quick-image',
      input: { prompt: 'x', count: 3 },
      metadata: { order: 'A-1' },
      provider: 'replicate',
      max_credits: 9,
    });
    expect([answer.status, answer.json()]).toEqual([
      200,
      {
        object: 'quote',
        model: 'quick-image',
        credits: 9,
        credits_per_output: 3,
        outputs: 3,
        account: 'default',
        available: 120,
        affordable: true,
        paused: false,
      },
    ]);
    expect(await rowsOf(db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
    expect(api.woken).toEqual([]);
  });

  it('says what is not affordable, to the credit', async () => {
    const seconds = (duration: number) => ({
      ...BODY,
      input: { prompt: 'x', duration_seconds: duration },
    });
    expect((await quote(seconds(6))).json()).toMatchObject({ credits: 120, affordable: true });
    expect((await quote(seconds(7))).json()).toMatchObject({
      credits: 140,
      available: 120,
      affordable: false,
    });
    expect((await quote({ ...BODY, account: 'nobody' })).json()).toMatchObject({
      account: 'nobody',
      available: null,
      affordable: false,
    });
  });

  it.each([
    ['unknown model', { ...BODY, model: 'sora' }, 400, 'unknown_model', '/model'],
    ['no model', { input: {} }, 400, 'invalid_request', '/model'],
    ['unknown field', { ...BODY, x: 1 }, 400, 'invalid_request', '/x'],
    ['a provider that has no such model', { ...BODY, provider: 'fal' }, 400, 'invalid_request', '/provider'],
    ['T43 no output', quickImages(0), 400, 'invalid_request', '/input/count'],
    ['T43 outputs below zero', quickImages(-1), 400, 'invalid_request', '/input/count'],
    ['T43 a milliard outputs', quickImages(1e9), 400, 'invalid_request', '/input/count'],
    ['T43 half an output', quickImages(1.5), 400, 'invalid_request', '/input/count'],
    ['T43 2^53 outputs', quickImages(2 ** 53), 400, 'invalid_request', '/input/count'],
    ['T43 a text as a count', quickImages('1'), 400, 'invalid_request', '/input/count'],
    ['above max_credits', { ...BODY, max_credits: 99 }, 409, 'price_changed', undefined],
  ])('%s is refused like the generation itself', async (_name, body, status, code, path) => {
    const refused = await quote(body);
    const problem = refused.json() as { code: string; errors?: { path: string }[] };
    expect([refused.status, problem.code]).toEqual([status, code]);
    expect(problem.errors?.map((error) => error.path) ?? []).toEqual(
      path === undefined ? [] : expect.arrayContaining([path]),
    );
    const created = await sendJson(api.url, tenant.key, {
      path: '/v1/generations',
      headers: { 'Idempotency-Key': 'any' },
      body,
    });
    const { instance: _one, ...ofQuote } = refused.json();
    const { instance: _two, ...ofCreate } = created.json();
    expect(ofQuote).toEqual(ofCreate);
  });

  it('T43 NaN and infinite numbers are no JSON', async () => {
    for (const number of ['NaN', 'Infinity', '-Infinity', '1e400']) {
      const answer = await quote(`{"model":"quick-image","input":{"prompt":"x","count":${number}}}`);
      expect(answer.status).toBe(400);
    }
  });
});

function quickImages(count: unknown) {
  return { model: 'quick-image', input: { prompt: 'x', count } };
}
