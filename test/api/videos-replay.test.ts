/** A repeat that meets another Darkroom than its first try: another catalogue, or the answer of another version. */
import { describe, expect, it } from 'vitest';
import { catalogueSchema, type Catalogue } from '../../src/domain/catalogue.ts';
import type { Answer, Sent } from './client.ts';
import { startApi } from './api.ts';
import { PICTURE, useFiles } from './inputs.ts';
import { useApi } from './suite.ts';
import { newTenant, rowsOf, type TestTenant } from './tenants.ts';
import { asReplica, createVideo, errorOf, idOf, sendForm, WISH } from './videos.ts';

const room = useFiles();
const suite = useApi(room.parts);

/** Another model of the same catalogue, so that no catalogue is without videos. */
const REST = model('rest', {});
const LENGTH = { values: [4, 8], default: 8 };
const ASPECT = { values: ['16:9', '9:16'], default: '16:9' };
const RESOLUTION = { values: ['720p', '1080p'], default: '720p' };

function model(id: string, input: object, method = 'text-to-video'): object {
  return {
    id,
    title: id,
    method,
    routes: [{ provider: 'infro', providerModel: 'm' }],
    input: { prompt: {}, ...input },
    price: { per: 'output', rates: [{ millicredits: 100_000 }] },
    expectedDurationSeconds: 60,
    deadlineSeconds: { default: 900, max: 3_600 },
  };
}

const of = (...models: readonly object[]): Catalogue => catalogueSchema.parse({ models: [...models, REST] });

type Ask = (url: string, tenant: TestTenant, prompt: string, headers: Sent['headers']) => Promise<Answer>;
const clip: Ask = (url, tenant, prompt, headers) =>
  createVideo(url, tenant, { model: 'clip', prompt, seconds: '4', size: '1280x720' }, headers);
const inline: Ask = (url, tenant, prompt, headers) => {
  const image_url = `data:image/png;base64,${PICTURE.toString('base64')}`;
  return createVideo(url, tenant, { model: 'clip', prompt, input_reference: { image_url } }, headers);
};
const file: Ask = (url, tenant, prompt, headers) =>
  sendForm(
    url,
    tenant,
    [
      ['model', 'clip'],
      ['prompt', prompt],
      ['input_reference', PICTURE],
    ],
    headers,
  );

const CLIP = model('clip', { duration_seconds: LENGTH, aspect_ratio: ASPECT });
const FROM_IMAGE = of(model('clip', { image_url: {} }, 'image-to-video'));
/** What the second catalogue says to a request that it has not seen; null = it takes it. */
const CHANGES: readonly [
  name: string,
  ask: Ask,
  before: Catalogue,
  after: Catalogue,
  refusal: string | null,
][] = [
  ['the model is not offered any more', clip, of(CLIP), of(), 'unknown_model'],
  [
    'the model has other sizes',
    clip,
    of(CLIP),
    of(model('clip', { duration_seconds: LENGTH, aspect_ratio: { values: ['1:1'], default: '1:1' } })),
    'invalid_request',
  ],
  ['the model has no length', clip, of(CLIP), of(model('clip', { aspect_ratio: ASPECT })), 'invalid_request'],
  [
    'the model has other lengths',
    clip,
    of(CLIP),
    of(model('clip', { duration_seconds: { values: [8], default: 8 }, aspect_ratio: ASPECT })),
    'invalid_request',
  ],
  [
    'the size means more',
    clip,
    of(CLIP),
    of(model('clip', { duration_seconds: LENGTH, aspect_ratio: ASPECT, resolution: RESOLUTION })),
    null,
  ],
  ['the model takes no image', inline, FROM_IMAGE, of(CLIP), 'invalid_request'],
  ['the model takes no image', file, FROM_IMAGE, of(CLIP), 'invalid_request'],
  ['the model of a file is gone', file, FROM_IMAGE, of(), 'unknown_model'],
  ['nothing of it has changed', inline, FROM_IMAGE, FROM_IMAGE, null],
];

describe('IDEM-9 another process gives the same video', () => {
  it.each(CHANGES)('also when %s', async (_name, ask, before, after, refusal) => {
    const first = await startApi(suite.db, { ...room.parts, catalogue: before });
    const second = await startApi(suite.db, { ...room.parts, catalogue: after });
    try {
      for (const headers of [{}, { 'Idempotency-Key': 'IDEM-9' }]) {
        const tenant = await newTenant(suite.db);
        const made = await ask(first.url, tenant, 'x', headers);
        expect(made.status, made.text).toBe(200);
        const again = await ask(second.url, tenant, 'x', headers);
        expect([again.status, again.text, again.headers['idempotent-replayed']]).toEqual([
          200,
          made.text,
          'true',
        ]);
        expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1, holds: 1 });
        const staying = await suite.db.prisma.storedInput.count({
          where: { tenantId: tenant.id, expiresAt: { gt: new Date(Date.now() + 60_000) } },
        });
        expect(staying).toBe(ask === clip ? 0 : 1);
      }
      const tenant = await newTenant(suite.db);
      const key = { 'Idempotency-Key': 'reuse' };
      expect((await ask(first.url, tenant, 'x', key)).status).toBe(200);
      const reuse = await ask(second.url, tenant, 'y', key);
      expect(errorOf(reuse)).toEqual([422, 'idempotency_key_reuse', null]);
      const fresh = await ask(second.url, tenant, 'y', {});
      expect(fresh.status === 200 ? null : errorOf(fresh)[1]).toBe(refusal);
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });
});

describe('the answer of another version', () => {
  it.each([[{}], [{ 'Idempotency-Key': 'older' }]])(
    'is repeated by the members that make a video, sent with %j',
    async (headers) => {
      const { url } = suite.api;
      const tenant = await newTenant(suite.db);
      const made = await createVideo(url, tenant, WISH, headers);
      await asReplica(
        suite.db,
        `UPDATE generation SET response_body = (response_body::jsonb - 'poll_url' - 'delivery' - 'stage' || '{"of_later": true}')::text WHERE id = $1`,
        idOf(made),
      );
      const again = await createVideo(url, tenant, WISH, headers);
      expect([again.status, again.json()]).toEqual([200, made.json()]);
    },
  );
});
