/** Which requests of `POST /v1/videos` are the same video: by their own key, and by the derived one. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { VIDEO_KEY_WINDOW_MS } from '../../src/domain/video-key.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { png } from '../storage/media.ts';
import { startApi } from './api.ts';
import { PICTURE, useFiles } from './inputs.ts';
import { useApi } from './suite.ts';
import { get, grant, newTenant, rowsOf, type TestTenant } from './tenants.ts';
import { send } from './client.ts';
import {
  asReplica,
  cancel,
  createVideo,
  errorOf,
  idOf,
  sendForm,
  sendSlowly,
  WISH,
  type Part,
} from './videos.ts';

const room = useFiles();
const suite = useApi(room.parts);
const url = () => suite.api.url;

const FORM: readonly Part[] = [
  ['model', WISH.model],
  ['prompt', WISH.prompt],
];
const withFile = (bytes: Uint8Array): readonly Part[] => [
  ['input_reference', bytes],
  ['model', 'animate-image'],
  ['prompt', 'x'],
];

/** Makes all of a tenant's videos so much older, as if time had passed. */
async function age(tenant: TestTenant, ms: number): Promise<void> {
  // No program may: a trigger holds the time of creation.
  await asReplica(
    suite.db,
    `UPDATE generation SET created_at = created_at - $1::float8 * interval '1 millisecond' WHERE tenant_id = $2`,
    ms,
    tenant.id,
  );
}

describe('without a key', () => {
  it('an equal request is the same video, however it is written, and is charged once', async () => {
    const tenant = await newTenant(suite.db);
    const first = await createVideo(url(), tenant);
    const again = await sendForm(url(), tenant, [...FORM].reverse());
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json()).toEqual(first.json());
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 1, holds: 1, held: 100 });
  });

  it('many at once are one', async () => {
    const tenant = await newTenant(suite.db);
    const answers = await Promise.all(Array.from({ length: 12 }, () => createVideo(url(), tenant)));
    const made = answers.filter(({ status }) => status === 200).map(idOf);
    expect(new Set(made).size).toBe(1);
    // One that waited too long for its twin is told to come again, as clients do by themselves.
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(errorOf(answer)).toEqual([409, 'idempotency_key_in_progress', null]);
      expect(answer.headers).toMatchObject({ 'retry-after': '1' });
      expect(answer.headers['x-should-retry']).toBeUndefined();
    }
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1 });
  });

  it('whatever differs makes another one', async () => {
    const tenant = await newTenant(suite.db, { credits: 100_000 });
    await grant(suite.db, tenant.id, 'user-1', 10_000);
    const other = await createApiKey(
      { db: suite.db },
      { tenantId: tenant.id, scopes: ['generations'], label: 'another' },
    );
    const ids = [
      idOf(await createVideo(url(), tenant)),
      idOf(await createVideo(url(), tenant, { ...WISH, prompt: `${WISH.prompt}.` })),
      idOf(await createVideo(url(), tenant, { ...WISH, seconds: '4' })),
      idOf(await createVideo(url(), tenant, { ...WISH, model: 'infro-video-polled' })),
      idOf(await createVideo(url(), tenant, WISH, { 'Darkroom-Account': 'user-1' })),
      idOf(await createVideo(url(), tenant, WISH, { 'Darkroom-Deadline-Seconds': '600' })),
      idOf(await createVideo(url(), { key: other.text })),
      idOf(await sendForm(url(), tenant, withFile(PICTURE))),
      idOf(await sendForm(url(), tenant, withFile(png(641, 360)))),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('a file is the same by its bytes, and only the first one stays', async () => {
    const tenant = await newTenant(suite.db);
    const ids = [
      idOf(await sendForm(url(), tenant, withFile(PICTURE))),
      idOf(await sendForm(url(), tenant, [...withFile(PICTURE)].reverse())),
      idOf(
        await createVideo(url(), tenant, {
          model: 'animate-image',
          prompt: 'x',
          input_reference: { image_url: `data:image/png;base64,${PICTURE.toString('base64')}` },
        }),
      ),
    ];
    expect(new Set(ids).size).toBe(1);
    const inputs = await suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id } });
    const staying = inputs.filter(({ expiresAt }) => expiresAt.getTime() > Date.now() + 60_000);
    // Of a data URL the bytes are known before they are stored.
    expect([inputs.length, staying.length]).toEqual([2, 1]);
  });

  it('holds from the first one on, without edges, until the window is over', async () => {
    const tenant = await newTenant(suite.db);
    const first = idOf(await createVideo(url(), tenant));
    for (const part of [0.25, 0.25, 0.25]) {
      await age(tenant, VIDEO_KEY_WINDOW_MS * part);
      expect(idOf(await createVideo(url(), tenant))).toBe(first);
    }
    await age(tenant, VIDEO_KEY_WINDOW_MS * 0.3);
    const second = await createVideo(url(), tenant);
    expect(second.headers['idempotent-replayed']).toBeUndefined();
    expect(idOf(second)).not.toBe(first);
    expect(idOf(await createVideo(url(), tenant))).toBe(idOf(second));
    await age(tenant, VIDEO_KEY_WINDOW_MS * 1.1);
    const third = await Promise.all([createVideo(url(), tenant), createVideo(url(), tenant)]);
    const ids = new Set(third.filter(({ status }) => status === 200).map(idOf));
    expect(ids.size).toBe(1);
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 3 });
  });

  it('counts from when a request began, however long its body takes', async () => {
    let passed = 0;
    const api = await startApi(suite.db, { ...room.parts, nowMs: () => Date.now() + passed });
    try {
      const tenant = await newTenant(suite.db);
      const first = idOf(await sendForm(api.url, tenant, withFile(PICTURE)));
      await age(tenant, VIDEO_KEY_WINDOW_MS * 0.9);
      const again = await sendSlowly(api.url, tenant, withFile(PICTURE), async () => {
        passed = VIDEO_KEY_WINDOW_MS * 0.2;
        await age(tenant, passed);
      });
      expect(again).toMatchObject({ id: first });
      expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1 });
    } finally {
      await api.close();
    }
  });

  it('outlasts all that official clients send again by themselves', async () => {
    const { timeout, maxRetries } = new OpenAI({ apiKey: 'x' });
    // Both obey a Retry-After of up to a minute; the one for Python has `timeout` for connecting (5 s) and each read alone.
    const [pause, connect, body] = [60_000, 5_000, suite.api.server.requestTimeout];
    // The answer to the first one is lost; so is that to each one between, whose body takes as long as it may.
    const begun = timeout + maxRetries * pause + (maxRetries - 1) * (connect + body + timeout);
    expect(begun).toBe(1_625_000);
    const tenant = await newTenant(suite.db);
    const first = idOf(await createVideo(url(), tenant));
    await age(tenant, begun);
    expect(idOf(await createVideo(url(), tenant))).toBe(first);
  });

  it('a refused request stands for nothing', async () => {
    const tenant = await newTenant(suite.db, { credits: 10 });
    expect(errorOf(await createVideo(url(), tenant))[0]).toBe(402);
    await grant(suite.db, tenant.id, 'default', 1_000);
    expect((await createVideo(url(), tenant)).headers['idempotent-replayed']).toBeUndefined();
  });

  it('is another tenant’s own', async () => {
    const [one, two] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    expect(idOf(await createVideo(url(), one))).not.toBe(idOf(await createVideo(url(), two)));
  });
});

describe('with a key', () => {
  it('two equal requests are two, and each is repeated for ever', async () => {
    const tenant = await newTenant(suite.db);
    const one = idOf(await createVideo(url(), tenant, WISH, { 'Idempotency-Key': 'one' }));
    const two = idOf(await createVideo(url(), tenant, WISH, { 'Idempotency-Key': 'two' }));
    expect(one).not.toBe(two);
    await cancel(url(), tenant, one);
    await age(tenant, 100 * VIDEO_KEY_WINDOW_MS);
    const again = await createVideo(url(), tenant, WISH, { 'Idempotency-Key': '"one"' });
    expect([idOf(again), again.headers['idempotent-replayed']]).toEqual([one, 'true']);
  });

  it('stands for one request, its file included', async () => {
    const tenant = await newTenant(suite.db);
    const key = { 'Idempotency-Key': 'with-file' };
    const first = idOf(await sendForm(url(), tenant, withFile(PICTURE), key));
    expect(idOf(await sendForm(url(), tenant, withFile(PICTURE), key))).toBe(first);
    const other = await sendForm(url(), tenant, withFile(png(641, 360)), key);
    expect(errorOf(other)).toEqual([422, 'idempotency_key_reuse', null]);
    expect(errorOf(await createVideo(url(), tenant, WISH, { 'Idempotency-Key': '' }))).toEqual([
      400,
      'idempotency_key_invalid',
      null,
    ]);
  });

  it('is of this front door: the same text at the other one is another key', async () => {
    const tenant = await newTenant(suite.db);
    const id = idOf(await createVideo(url(), tenant, WISH, { 'Idempotency-Key': 'k' }));
    const answer = await send(url(), {
      method: 'POST',
      path: '/v1/generations',
      headers: {
        Authorization: `Bearer ${tenant.key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'k',
      },
      body: JSON.stringify({ model: WISH.model, input: { prompt: WISH.prompt } }),
    });
    expect(answer.status).toBe(202);
    expect(answer.json()['id']).not.toBe(id);
    expect((await get(url(), tenant, `/v1/videos/${String(answer.json()['id'])}`)).status).toBe(200);
  });
});
