import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import type { Catalogue } from '../../src/domain/catalogue.ts';
import { newId } from '../../src/domain/ids.ts';
import { startApi, type TestApi } from './api.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { send } from './client.ts';
import { BODY, create, get, grant, newTenant, rowsOf, type TestTenant } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 20, connectWithinMs: 60_000 });
  api = await startApi(db);
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

const PRICE = 100;
const ONE = { generations: 1, holds: 1, held: PRICE };
const NONE = { generations: 0, holds: 0, held: 0 };

const cancel = (tenant: TestTenant, id: string) =>
  send(api.url, {
    method: 'POST',
    path: `/v1/generations/${id}/cancel`,
    headers: { Authorization: `Bearer ${tenant.key}` },
  });

describe('POST /v1/generations', () => {
  it('answers 202 with the generation, its place and when to look', async () => {
    const tenant = await newTenant(db);
    const body = {
      ...BODY,
      input: { prompt: 'ä 😊', duration_seconds: 3 },
      metadata: { order: 'A-1' },
      deadline_seconds: 61,
    };
    const answer = await create(api.url, tenant, { body });
    const view = answer.json();
    expect(answer.status).toBe(202);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      location: `/v1/generations/${String(view['id'])}`,
      'retry-after': '2',
    });
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
    expect(view).toEqual({
      id: expect.stringMatching(/^gen_[0-9a-hjkmnp-tv-z]{26}$/) as string,
      object: 'generation',
      account: 'default',
      state: 'queued',
      stage: 'queued',
      progress: null,
      model: 'infro-video',
      provider: null,
      input: { prompt: 'ä 😊', duration_seconds: 3 },
      metadata: { order: 'A-1' },
      credits: { held: 60, captured: 0, released: 0, refunded: 0 },
      delivery: 'pending',
      cancellation: null,
      error: null,
      outputs: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      updated_at: view['created_at'],
      started_at: null,
      completed_at: null,
      deadline_at: new Date(Date.parse(view['created_at'] as string) + 61_000).toISOString(),
      estimated_duration_seconds: 60,
      poll_url: `/v1/generations/${String(view['id'])}`,
    });
    expect((await get(api.url, tenant, view['poll_url'] as string)).text).toBe(answer.text);
    expect(api.woken.filter(({ run }) => run.generationId === view['id'])).toMatchObject([
      { reason: 'created' },
    ]);
  });

  it('IDEM-2 the same key and body three times: the same bytes, one generation, one hold, one start', async () => {
    const tenant = await newTenant(db);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await create(api.url, tenant, { key: 'IDEM-2' }));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true', 'true']);
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(await rowsOf(db, tenant.id)).toEqual(ONE);
    expect(api.woken.filter(({ run }) => run.tenantId === tenant.id)).toHaveLength(1);
  });

  it('IDEM-2 a replay shows the first answer, also when the generation has ended since', async () => {
    const tenant = await newTenant(db);
    const first = await create(api.url, tenant, { key: 'ended' });
    const cancelled = await send(api.url, {
      method: 'DELETE',
      path: first.headers.location!,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect(cancelled.json()).toMatchObject({ state: 'cancelled' });
    const replay = await create(api.url, tenant, { key: 'ended' });
    expect(replay.text).toBe(first.text);
    expect(await rowsOf(db, tenant.id)).toEqual({ generations: 1, holds: 0, held: 0 });
  });

  it('IDEM-3 fifty at once over two processes: exactly one is not a replay', async () => {
    const other = openDb(database.url, { poolSize: 5, connectWithinMs: 60_000 });
    const second = await startApi(other);
    const tenant = await newTenant(db);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        create(i % 2 === 0 ? api.url : second.url, tenant, { key: 'IDEM-3' }),
      ),
    );
    await second.close();
    await other.close();
    const taken = answers.filter(({ status }) => status === 202);
    const busy = answers.filter(({ status }) => status !== 202);
    expect(taken.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(new Set(taken.map(({ text }) => text)).size).toBe(1);
    for (const answer of busy) {
      expect(answer.json()).toMatchObject({ status: 409, code: 'idempotency_key_in_progress' });
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect(await rowsOf(db, tenant.id)).toEqual(ONE);
  });

  it('IDEM-4 another body is 422; other white space, key order or quoting is the same request', async () => {
    const tenant = await newTenant(db);
    const first = await create(api.url, tenant, { key: 'IDEM-4' });
    const other = await create(api.url, tenant, { key: 'IDEM-4', body: { ...BODY, metadata: {} } });
    expect([other.status, other.json()['code']]).toEqual([422, 'idempotency_key_reuse']);
    const reordered = `{ "input" : {"prompt":"A light\\u0068ouse in a storm"},\n "model":"infro-video" }`;
    const same = await create(api.url, tenant, { key: '"IDEM-4"', body: reordered });
    expect([same.status, same.text, same.headers['idempotent-replayed']]).toEqual([202, first.text, 'true']);
    expect(await rowsOf(db, tenant.id)).toEqual(ONE);
  });

  it('IDEM-5 IDEM-12 A5 the same key of another tenant is independent', async () => {
    const [one, two] = await Promise.all([newTenant(db), newTenant(db)]);
    const a = await create(api.url, one, { key: '11111111-1111-4111-8111-111111111111' });
    const b = await create(api.url, two, { key: '11111111-1111-4111-8111-111111111111' });
    expect([a.status, b.status]).toEqual([202, 202]);
    expect(b.headers['idempotent-replayed']).toBeUndefined();
    expect(b.json()['id']).not.toBe(a.json()['id']);
  });

  it('IDEM-6 IDEM-7 a refused call leaves the key free', async () => {
    const tenant = await newTenant(db, { credits: PRICE - 1 });
    const key = 'IDEM-6';
    const poor = await create(api.url, tenant, { key });
    expect([poor.status, poor.json()]).toEqual([
      402,
      expect.objectContaining({ code: 'insufficient_credits', available: PRICE - 1, required: PRICE }),
    ]);
    const refusals: [unknown, number, string][] = [
      [{ ...BODY, max_credits: PRICE - 1 }, 409, 'price_changed'],
      [{ ...BODY, model: 'nope' }, 400, 'unknown_model'],
      [{ ...BODY, extra: 1 }, 400, 'invalid_request'],
      [{ ...BODY, account: 'nobody' }, 409, 'unknown_account'],
    ];
    for (const [body, status, code] of refusals) {
      const refused = await create(api.url, tenant, { key, body });
      expect([refused.status, refused.json()['code']]).toEqual([status, code]);
    }
    expect(await rowsOf(db, tenant.id)).toEqual(NONE);
    await grant(db, tenant.id, 'default', 1);
    expect((await create(api.url, tenant, { key })).status).toBe(202);
    expect(await rowsOf(db, tenant.id)).toEqual(ONE);
  });

  it('IDEM-9 another process replays, also when its catalogue would refuse the request now', async () => {
    const tenant = await newTenant(db);
    const body = { ...BODY, max_credits: PRICE };
    const first = await create(api.url, tenant, { key: 'IDEM-9', body });
    const [model, polled] = DEFAULT_CATALOGUE.models;
    const catalogues: Catalogue[] = [
      { models: [polled!] },
      {
        models: [
          {
            ...model!,
            price: { per: 'second', rates: [{ when: {}, millicredits: 21_000 }], adjustments: [] },
          },
        ],
      },
      { models: [{ ...model!, input: { ...model!.input, prompt: { maxCharacters: 3, required: true } } }] },
    ];
    for (const catalogue of catalogues) {
      const restarted = await startApi(db, { catalogue });
      const replay = await create(restarted.url, tenant, { key: 'IDEM-9', body });
      expect([replay.status, replay.text, replay.headers['idempotent-replayed']]).toEqual([
        202,
        first.text,
        'true',
      ]);
      const reuse = await create(restarted.url, tenant, { key: 'IDEM-9', body: { ...body, model: 'gone' } });
      expect(reuse.json()['code']).toBe('idempotency_key_reuse');
      await restarted.close();
    }
  });

  it('IDEM-10 a key counts for as long as its generation: also years later and erased it is a replay, never a second one', async () => {
    const tenant = await newTenant(db);
    const first = await create(api.url, tenant, { key: 'IDEM-10' });
    const id = first.json()['id'] as string;
    expect((await cancel(tenant, id)).status).toBe(200);
    // Past the guards of what has ended: time alone does this.
    await db.prisma.$transaction([
      db.prisma.$executeRaw`SET LOCAL session_replication_role = replica`,
      db.prisma.$executeRaw`UPDATE generation SET created_at = created_at - interval '3 years',
        updated_at = updated_at - interval '3 years', deadline_at = deadline_at - interval '3 years',
        completed_at = completed_at - interval '3 years' WHERE id = ${id}`,
    ]);
    for (let pass = 0; pass < 2; pass += 1) {
      const again = await create(api.url, tenant, { key: 'IDEM-10' });
      expect([again.status, again.json()['id'], again.headers['idempotent-replayed']]).toEqual([
        202,
        id,
        'true',
      ]);
      const other = await create(api.url, tenant, { key: 'IDEM-10', body: { ...BODY, metadata: {} } });
      expect([other.status, other.json()['code']]).toEqual([422, 'idempotency_key_reuse']);
      const erased = await send(api.url, {
        method: 'DELETE',
        path: `/v1/generations/${id}/input`,
        headers: { Authorization: `Bearer ${tenant.key}` },
      });
      expect(erased.status).toBe(200);
    }
    expect((await rowsOf(db, tenant.id)).generations).toBe(1);
    // The tables refuse it too, whatever Temporal has forgotten.
    const copy = db.prisma.$executeRaw`INSERT INTO generation
      SELECT (jsonb_populate_record(g, jsonb_build_object('id', ${newId('gen')}::text))).* FROM generation g WHERE id = ${id}`;
    await expect(copy).rejects.toThrow(/generation_idempotency|unique/i);
  });

  it('A2 the client that left before the answer finds its generation by the same key', async () => {
    const tenant = await newTenant(db);
    await expect(
      send(api.url, {
        method: 'POST',
        path: '/v1/generations',
        headers: {
          Authorization: `Bearer ${tenant.key}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'A2',
          'Content-Length': '10',
        },
        body: '{"mod',
        abortAfterMs: 50,
      }),
    ).rejects.toThrow('cut by the test');
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => create(api.url, tenant, { key: 'A2' })),
    );
    expect(answers.filter(({ status }) => status === 202).length).toBeGreaterThan(0);
    expect(await rowsOf(db, tenant.id)).toEqual(ONE);
  });

  it('F-19 twenty at once on a balance for ten: ten are taken, ten answer 402', async () => {
    const tenant = await newTenant(db, { credits: 10 * PRICE });
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(api.url, tenant)));
    const statuses = answers.map(({ status }) => status);
    expect([statuses.filter((s) => s === 202).length, statuses.filter((s) => s === 402).length]).toEqual([
      10, 10,
    ]);
    expect(await rowsOf(db, tenant.id)).toEqual({ generations: 10, holds: 10, held: 10 * PRICE });
  });
});
