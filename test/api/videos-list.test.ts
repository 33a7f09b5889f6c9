/** Pages of `GET /v1/videos`. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { succeeded, useFiles } from './files.ts';
import { create, get, newTenant, type TestTenant } from './tenants.ts';
import { asReplica, cancel, createVideo, del, errorOf, idOf, WISH } from './videos.ts';

const suite = useFiles();
const url = () => suite.api.url;

interface Page {
  readonly object: string;
  readonly data: readonly { readonly id: string; readonly status: string }[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

async function page(tenant: TestTenant, query = ''): Promise<Page> {
  const answer = await get(url(), tenant, `/v1/videos${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as unknown as Page;
}

/** All ids by pages of this size. */
async function all(tenant: TestTenant, limit: number, order: string): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ;) {
    const { data, last_id, has_more } = await page(tenant, `?limit=${limit}&order=${order}${after}`);
    ids.push(...data.map(({ id }) => id));
    if (!has_more) return ids;
    expect(data).toHaveLength(limit);
    expect(last_id).toBe(data.at(-1)!.id);
    after = `&after=${last_id}`;
  }
}

/** Seven videos, waiting and ended, of three models, between images; oldest first. */
async function mixed(tenant: TestTenant): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < 7; i += 1) {
    const body = { model: 'quick-image', input: { prompt: String(i) } };
    await create(url(), tenant, { body });
    const model = ['infro-video', 'cinema-video', 'infro-video-polled'][i % 3];
    ids.push(
      i % 2 === 0
        ? await succeeded(suite, tenant)
        : idOf(await createVideo(url(), tenant, { ...WISH, model, prompt: String(i) })),
    );
  }
  return ids;
}

describe('a list of videos', () => {
  it('has all of them and nothing else, in both orders, by pages of any size', async () => {
    const tenant = await newTenant(suite.db, { credits: 100_000 });
    const oldest = await mixed(tenant);
    const newest = [...oldest].reverse();
    for (const limit of [1, 3, 7, 100]) {
      expect(await all(tenant, limit, 'desc')).toEqual(newest);
      expect(await all(tenant, limit, 'asc')).toEqual(oldest);
    }
    const whole = await page(tenant);
    expect(whole).toMatchObject({
      object: 'list',
      first_id: newest[0],
      last_id: newest.at(-1),
      has_more: false,
    });
    expect(whole.data.map(({ status }) => status)).toEqual(
      newest.map((_, i) => (i % 2 === 0 ? 'completed' : 'queued')),
    );
  });

  it('of rows of one moment has each once', async () => {
    const tenant = await newTenant(suite.db, { credits: 100_000 });
    const ids = await mixed(tenant);
    // No program may: a trigger holds the time of creation.
    await asReplica(
      suite.db,
      `UPDATE generation SET created_at = '2026-11-29T12:00:00Z' WHERE tenant_id = $1`,
      tenant.id,
    );
    expect((await all(tenant, 2, 'desc')).sort()).toEqual([...ids].sort());
    expect(await all(tenant, 2, 'asc')).toEqual((await all(tenant, 2, 'desc')).reverse());
  });

  it('leaves deleted ones out, and goes on behind them', async () => {
    const tenant = await newTenant(suite.db, { credits: 100_000 });
    const ids: string[] = [];
    for (let i = 0; i < 9; i += 1) ids.push(await succeeded(suite, tenant));
    const first = await page(tenant, '?limit=2');
    // Also the very one that the next page begins behind.
    for (const id of ids.slice(1, 8)) await del(url(), tenant, id);
    const { data, has_more } = await page(tenant, `?limit=2&after=${first.last_id}`);
    expect([data.map(({ id }) => id), has_more]).toEqual([[ids[0]], false]);
    expect(await all(tenant, 1, 'desc')).toEqual([ids[8], ids[0]]);
    expect(await all(tenant, 1, 'asc')).toEqual([ids[0], ids[8]]);
  });

  it.each([
    ['images, then videos', [0, 0, 1, 1], [2, 3]],
    ['videos, then images', [1, 1, 0, 0], [0, 1]],
    ['videos, then images, then videos', [1, 0, 1], [0, 2]],
    ['waiting ones of both', [0, 1], [1]],
  ])('of a model that made %s has what is a video by itself', async (name, made, videos) => {
    const [model] = DEFAULT_CATALOGUE.models;
    const apis = await Promise.all(
      (['text-to-image', 'text-to-video'] as const).map((method) =>
        suite.start({ catalogue: { models: [{ ...model!, method }] } }),
      ),
    );
    const tenant = await newTenant(suite.db);
    const ids: string[] = [];
    for (const kind of made) {
      const body = { model: model!.id, input: { prompt: 'x' } };
      const id = (await create(apis[kind]!.url, tenant, { body })).json()['id'] as string;
      if (!name.startsWith('waiting')) await cancel(url(), tenant, id);
      ids.push(id);
    }
    const shown = videos.map((i) => ids[i]!);
    for (const limit of [1, 10]) {
      expect(await all(tenant, limit, 'asc')).toEqual(shown);
      expect(await all(tenant, limit, 'desc')).toEqual([...shown].reverse());
    }
    const read = await Promise.all(ids.map((id) => get(url(), tenant, `/v1/videos/${id}`)));
    expect(read.map(({ status }) => status)).toEqual(made.map((kind) => (kind === 1 ? 200 : 404)));
  });

  it('of nothing is empty', async () => {
    const tenant = await newTenant(suite.db);
    expect(await page(tenant)).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?order=newest', 'order'],
    ['?after=x', 'after'],
    ['?before=x', 'before'],
  ])('refuses %s', async (query, param) => {
    const tenant = await newTenant(suite.db);
    expect(errorOf(await get(url(), tenant, `/v1/videos${query}`))).toEqual([400, 'invalid_query', param]);
  });

  it('does not begin behind an unknown video, or another tenant’s', async () => {
    const [tenant, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const theirs = idOf(await createVideo(url(), other));
    for (const id of [theirs, `gen_${'0'.repeat(26)}`]) {
      const answer = await get(url(), tenant, `/v1/videos?after=${id}`);
      expect(errorOf(answer)).toEqual([404, 'video_not_found', 'after']);
    }
  });
});
