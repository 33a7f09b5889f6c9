/** Videos in the shape of the OpenAI Videos API over the same generations: read, downloaded, deleted. */
import { describe, expect, it } from 'vitest';
import { send } from './client.ts';
import { CONTENT, fetchFile, sha256, succeeded, useFiles } from './files.ts';
import { create, get, newTenant, readBalance } from './tenants.ts';
import { createVideo, del, errorOf, idOf, messageOf, WISH } from './videos.ts';

const suite = useFiles();
const url = () => suite.api.url;
const video = async (tenant: { key: string }, id: string) =>
  send(url(), { path: `/v1/videos/${id}`, headers: { Authorization: `Bearer ${tenant.key}` } });

describe('reading', () => {
  it('a finished one, made by either front door, is complete', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const answer = await video(tenant, id);
    const shown = answer.json();
    const generation = (await get(url(), tenant, `/v1/generations/${id}`)).json();
    const [output] = generation['outputs'] as { expires_at: string; width: number | null }[];
    const unix = (time: unknown) => Math.floor(Date.parse(time as string) / 1_000);
    expect(shown).toMatchObject({
      id,
      status: 'completed',
      progress: 100,
      seconds: '5',
      created_at: unix(generation['created_at']),
      completed_at: unix(generation['completed_at']),
      expires_at: unix(output!.expires_at),
      error: null,
    });
    expect(answer.headers['retry-after']).toBeUndefined();
  });

  it('one that waits says when to look again', async () => {
    const tenant = await newTenant(suite.db);
    const id = idOf(await createVideo(url(), tenant));
    const answer = await video(tenant, id);
    expect(answer.json()).toMatchObject({ status: 'queued' });
    expect(answer.headers).toMatchObject({ 'retry-after': '3', 'openai-poll-after-ms': '3000' });
  });

  it('a cancelled one has failed', async () => {
    const tenant = await newTenant(suite.db);
    const id = idOf(await createVideo(url(), tenant));
    await send(url(), {
      method: 'POST',
      path: `/v1/generations/${id}/cancel`,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect((await video(tenant, id)).json()).toMatchObject({
      status: 'failed',
      error: { code: 'cancelled', message: expect.stringContaining('credits were released') },
    });
    const content = await get(url(), tenant, `/v1/videos/${id}/content`);
    expect(errorOf(content)).toEqual([404, 'output_not_found', null]);
  });

  it('an image is no video, nor is another tenant’s', async () => {
    const [tenant, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const body = { model: 'quick-image', input: { prompt: 'x' } };
    const image = (await create(url(), tenant, { body })).json()['id'] as string;
    const made = idOf(await createVideo(url(), other));
    for (const id of [image, made, 'gen_x']) {
      expect(errorOf(await video(tenant, id))).toEqual([404, 'video_not_found', null]);
      expect(errorOf(await get(url(), tenant, `/v1/videos/${id}/content`))[1]).toBe('video_not_found');
      expect(errorOf(await del(url(), tenant, id))[1]).toBe('video_not_found');
    }
  });
});

describe('downloading', () => {
  const download = (
    tenant: { key: string },
    id: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ) =>
    fetchFile(url(), `/v1/videos/${id}/content`, {
      method,
      headers: { Authorization: `Bearer ${tenant.key}`, ...headers },
    });

  it('streams the file, whole, in part, and only its headers', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const whole = await download(tenant, id, { Accept: 'application/binary' });
    expect(whole.status).toBe(200);
    expect(whole.bytes.equals(CONTENT)).toBe(true);
    expect(whole.headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(CONTENT.length),
      'accept-ranges': 'bytes',
      etag: `"sha256-${sha256(CONTENT)}"`,
      'cache-control': 'private, no-cache',
    });
    const part = await download(tenant, id, { Range: 'bytes=10-19' });
    expect([part.status, part.bytes.toString()]).toEqual([206, '0123456789']);
    const head = await download(tenant, id, {}, 'HEAD');
    expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([200, '100', 0]);
    const again = await download(tenant, id, { 'If-None-Match': whole.headers.etag! });
    expect(again.status).toBe(304);
    const beyond = await get(url(), tenant, `/v1/videos/${id}/content`, { Range: 'bytes=500-' });
    expect([...errorOf(beyond), beyond.headers['content-range']]).toEqual([
      416,
      'invalid_range',
      null,
      'bytes */100',
    ]);
  });

  it('never sends a caller on, also where links do', async () => {
    const presign = async () => 'https://elsewhere.example/file';
    const { createFileDelivery } = await import('../../src/services/file-delivery.ts');
    const api = await suite.start({
      storage: { ...suite.storage, presign },
      fileDelivery: createFileDelivery({ mode: 'presigned' }),
    });
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const answer = await fetchFile(api.url, `/v1/videos/${id}/content`, {
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect([answer.status, answer.bytes.equals(CONTENT)]).toEqual([200, true]);
  });

  it('has no other variants, and no file before its end', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    expect((await get(url(), tenant, `/v1/videos/${id}/content?variant=video`)).status).toBe(200);
    for (const variant of ['thumbnail', 'spritesheet']) {
      const answer = await get(url(), tenant, `/v1/videos/${id}/content?variant=${variant}`);
      expect(errorOf(answer)).toEqual([400, 'invalid_query', 'variant']);
      expect(messageOf(answer)).toContain('no thumbnails');
    }
    const waiting = idOf(await createVideo(url(), tenant));
    const early = await get(url(), tenant, `/v1/videos/${waiting}/content`);
    expect(errorOf(early)).toEqual([404, 'output_not_found', null]);
    expect(messageOf(early)).toContain('has not finished');
  });

  it('is gone once its time is over, also while the file still waits to be removed', async () => {
    const api = await suite.start({ nowMs: () => Date.now() + 40 * 86_400_000 });
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    expect((await download(tenant, id)).status).toBe(200);
    const late = await get(api.url, tenant, `/v1/videos/${id}/content`);
    expect(errorOf(late)).toEqual([404, 'file_not_found', null]);
  });

  it('is gone when the outputs were deleted by the other door; the video stays', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    await send(url(), {
      method: 'DELETE',
      path: `/v1/generations/${id}/outputs`,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect(errorOf(await get(url(), tenant, `/v1/videos/${id}/content`))).toEqual([
      404,
      'file_not_found',
      null,
    ]);
    expect((await video(tenant, id)).json()).toMatchObject({ status: 'completed' });
  });
});

describe('deleting', () => {
  it('takes file and prompt away for good; the books stay, and a repeat is the same', async () => {
    const tenant = await newTenant(suite.db);
    const id = await succeeded(suite, tenant);
    const before = await readBalance(url(), tenant);
    const gone = { id, object: 'video.deleted', deleted: true };
    for (const answer of [await del(url(), tenant, id), await del(url(), tenant, id)]) {
      expect([answer.status, answer.json()]).toEqual([200, gone]);
    }
    expect(errorOf(await video(tenant, id))).toEqual([404, 'video_not_found', null]);
    expect(errorOf(await get(url(), tenant, `/v1/videos/${id}/content`))[0]).toBe(404);
    expect((await get(url(), tenant, '/v1/videos')).json()).toMatchObject({ data: [] });
    expect((await get(url(), tenant, `/v1/generations/${id}`)).json()).toMatchObject({
      state: 'succeeded',
      input: {},
      delivery: 'expired',
      credits: { captured: 100 },
    });
    expect(await readBalance(url(), tenant)).toEqual(before);
  });

  it('refuses one that has not ended, and tells clients not to try again', async () => {
    const tenant = await newTenant(suite.db);
    const id = idOf(await createVideo(url(), tenant));
    const answer = await del(url(), tenant, id);
    expect(errorOf(answer)).toEqual([409, 'not_terminal', null]);
    expect(answer.headers['x-should-retry']).toBe('false');
    expect(messageOf(answer)).toContain(`/cancel`);
    expect((await video(tenant, id)).json()).toMatchObject({ status: 'queued', prompt: WISH.prompt });
  });
});
