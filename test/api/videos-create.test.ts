/** `POST /v1/videos`, and errors in the shape of that API. */
import { describe, expect, it } from 'vitest';
import { send } from './client.ts';
import { faultsOf, OPERATIONS } from './documented.ts';
import { PICTURE } from './inputs.ts';
import { useApi } from './suite.ts';
import { get, newTenant, readBalance } from './tenants.ts';
import { createVideo, errorOf, idOf, messageOf, WISH } from './videos.ts';

const suite = useApi();
const url = () => suite.api.url;

describe('creating', () => {
  it('is a generation like any other, with the fields of a video', async () => {
    const tenant = await newTenant(suite.db);
    const answer = await createVideo(url(), tenant, { ...WISH, seconds: '4' });
    expect(answer.status).toBe(200);
    const made = answer.json();
    const created = Math.floor(Date.now() / 1_000);
    expect(made).toEqual({
      id: expect.stringMatching(/^gen_/),
      object: 'video',
      model: 'infro-video',
      status: 'queued',
      progress: 0,
      created_at: expect.any(Number),
      completed_at: null,
      expires_at: null,
      seconds: '4',
      size: null,
      prompt: WISH.prompt,
      error: null,
      remixed_from_video_id: null,
    });
    expect(Math.abs((made['created_at'] as number) - created)).toBeLessThan(60);
    expect(answer.headers).toMatchObject({
      location: `/v1/videos/${String(made['id'])}`,
      'retry-after': '2',
      'openai-poll-after-ms': '2000',
    });
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    const generation = (await get(url(), tenant, `/v1/generations/${String(made['id'])}`)).json();
    expect(generation).toMatchObject({
      model: 'infro-video',
      account: 'default',
      input: { prompt: WISH.prompt, duration_seconds: 4 },
      credits: { held: 80 },
      metadata: {},
    });
    const window =
      Date.parse(generation['deadline_at'] as string) - Date.parse(generation['created_at'] as string);
    expect(window).toBe(900_000);
    expect(suite.api.woken.map(({ run }) => run.generationId)).toContain(made['id']);
  });

  it('takes seconds as a number, and a size by what it stands for', async () => {
    const tenant = await newTenant(suite.db);
    const made = await createVideo(url(), tenant, {
      model: 'cinema-video',
      prompt: 'a cat',
      seconds: 4,
      size: '1080x1920',
    });
    expect(made.json()).toMatchObject({ seconds: '4', size: '1080x1920' });
    const generation = (await get(url(), tenant, `/v1/generations/${idOf(made)}`)).json();
    expect(generation['input']).toEqual({
      prompt: 'a cat',
      duration_seconds: 4,
      resolution: '1080p',
      aspect_ratio: '9:16',
      audio: false,
    });
  });

  it('takes account and deadline from headers', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'credits:grant'] });
    const missing = await createVideo(url(), tenant, WISH, { 'Darkroom-Account': 'user-1' });
    expect(errorOf(missing)).toEqual([409, 'unknown_account', 'Darkroom-Account']);
    expect(missing.headers['x-should-retry']).toBe('false');
    await send(url(), {
      method: 'POST',
      path: '/v1/accounts/user-1/grants',
      headers: {
        Authorization: `Bearer ${tenant.key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'g',
      },
      body: '{"credits": 1000}',
    });
    const headers = { 'Darkroom-Account': 'user-1', 'Darkroom-Deadline-Seconds': '600' };
    const id = idOf(await createVideo(url(), tenant, WISH, headers));
    const generation = (await get(url(), tenant, `/v1/generations/${id}`)).json();
    expect(generation).toMatchObject({ account: 'user-1' });
    expect(
      Date.parse(generation['deadline_at'] as string) - Date.parse(generation['created_at'] as string),
    ).toBe(600_000);
    const wrong: [object, string][] = [
      [{ 'Darkroom-Account': 'no spaces' }, 'Darkroom-Account'],
      [{ 'Darkroom-Account': ['a', 'b'] }, 'Darkroom-Account'],
      [{ 'Darkroom-Deadline-Seconds': 'soon' }, 'Darkroom-Deadline-Seconds'],
      [{ 'Darkroom-Deadline-Seconds': '0' }, 'Darkroom-Deadline-Seconds'],
    ];
    for (const [sent, param] of wrong) {
      const answer = await createVideo(url(), tenant, WISH, sent as Record<string, string>);
      expect(errorOf(answer)).toEqual([400, 'invalid_request', param]);
    }
    const short = await createVideo(url(), tenant, WISH, { 'Darkroom-Deadline-Seconds': '5' });
    expect(errorOf(short)).toEqual([422, 'deadline_unusable', 'Darkroom-Deadline-Seconds']);
    const both = { 'Darkroom-Deadline-Seconds': '5' };
    const more = await createVideo(url(), tenant, { ...WISH, seconds: '16' }, both);
    expect(errorOf(more)[0]).toBe(400);
  });

  it.each<[object, string, string | null, RegExp]>([
    [
      {},
      'unknown_model',
      'model',
      /Name a model\. Models without input_reference: infro-video, .*with it: .*animate-image/,
    ],
    [{ model: 'sora-2', prompt: 'x' }, 'unknown_model', 'model', /No model of this name .*cinema-video/],
    [{ model: 'quick-image', prompt: 'x' }, 'unknown_model', 'model', /makes videos here/],
    [{ model: 'infro-video' }, 'invalid_request', 'prompt', /prompt: Required/],
    [{ model: 'infro-video', prompt: ' ' }, 'invalid_request', 'prompt', /Write some text/],
    [{ ...WISH, seconds: '16' }, 'invalid_request', 'seconds', /seconds: /],
    [{ ...WISH, seconds: 'four' }, 'invalid_request', 'seconds', /whole seconds, like "8"/],
    [{ ...WISH, seconds: 4.5 }, 'invalid_request', 'seconds', /whole seconds/],
    [{ ...WISH, model: 'cinema-video', seconds: '12' }, 'invalid_request', 'seconds', /Use one of 4, 8\./],
    [{ ...WISH, size: '1280x720' }, 'invalid_request', 'size', /no size to choose/],
    [
      { ...WISH, model: 'cinema-video', size: '1024x1792' },
      'invalid_request',
      'size',
      /Use one of 1280x720, 720x1280, 1920x1080, 1080x1920\./,
    ],
    [{ ...WISH, n: 2 }, 'invalid_request', 'n', /Unknown field/],
    [{ ...WISH, input_reference: 'x' }, 'invalid_request', 'input_reference', /Send a file/],
    [
      { ...WISH, input_reference: { file_id: `inp_${'0'.repeat(26)}` } },
      'invalid_request',
      'input_reference',
      /takes no image.*with it: .*animate-image/,
    ],
    [{ model: 'animate-image', prompt: 'x' }, 'invalid_request', 'input_reference', /needs an image/],
    [
      { model: 'animate-image', prompt: 'x', input_reference: { file_id: 'file-abc' } },
      'invalid_request',
      'input_reference',
      /id of an upload/,
    ],
    [
      {
        model: 'animate-image',
        prompt: 'x',
        input_reference: { file_id: `data:image/png;base64,${PICTURE.toString('base64')}` },
      },
      'invalid_request',
      'input_reference',
      /id of an upload/,
    ],
    [
      { model: 'animate-image', prompt: 'x', input_reference: { image_url: `inp_${'0'.repeat(26)}` } },
      'invalid_request',
      'input_reference',
      /as file_id, a URL as image_url/,
    ],
    [
      { model: 'animate-image', prompt: 'x', input_reference: { image_url: 'http://10.0.0.1/x.png' } },
      'invalid_request',
      'input_reference',
      /https URL/,
    ],
    [
      { model: 'animate-image', prompt: 'x', input_reference: { image_url: 'data:image/png;base64,ab_-' } },
      'invalid_request',
      'input_reference',
      /data URL with whole base64/,
    ],
  ])('refuses %j', async (body, code, param, message) => {
    const tenant = await newTenant(suite.db);
    const answer = await createVideo(url(), tenant, body);
    expect(errorOf(answer)).toEqual([400, code, param]);
    expect(messageOf(answer)).toMatch(message);
    expect(await readBalance(url(), tenant)).toMatchObject({ held: 0 });
  });

  it.each(['application/json', 'multipart/form-data'])(
    'is documented as %s with all that it takes',
    (type) => {
      const { operation } = OPERATIONS.find(
        ({ operation: { operationId } }) => operationId === 'createVideo',
      )!;
      const { schema } = operation.requestBody!.content[type]!;
      const faults = (image: string) =>
        faultsOf(schema, { model: 'animate-image', prompt: 'x', input_reference: { image_url: image } });
      expect(faults(`data:image/png;base64,${'AAAA'.repeat(2_000)}AA==`)).toEqual([]);
      expect(faults('https://example.com/boat.png')).toEqual([]);
      expect(faults('data:image/png,AAAA')).not.toEqual([]);
      expect(faults(`inp_${'0'.repeat(26)}`)).not.toEqual([]);
    },
  );

  it('without credits says what is there and what it costs; nobody sends that again', async () => {
    const tenant = await newTenant(suite.db, { credits: 10 });
    const answer = await createVideo(url(), tenant);
    expect(errorOf(answer)).toEqual([402, 'insufficient_credits', null]);
    expect(answer.json()).toMatchObject({ error: { type: 'insufficient_quota' } });
    expect(messageOf(answer)).toContain('(available 10, required 100)');
  });

  it('tells errors of every kind in that shape', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['webhooks'] });
    const bearer = { Authorization: `Bearer ${tenant.key}` };
    expect(errorOf(await createVideo(url(), { key: 'dk_wrong' }))).toEqual([401, 'api_key_invalid', null]);
    expect(errorOf(await createVideo(url(), tenant))).toEqual([403, 'scope_missing', null]);
    const put = await send(url(), { method: 'PUT', path: '/v1/videos', headers: bearer });
    expect([...errorOf(put), put.headers['allow']]).toEqual([
      405,
      'method_not_allowed',
      null,
      'POST, GET, HEAD',
    ]);
    const able = await newTenant(suite.db);
    expect(errorOf(await createVideo(url(), able, '{"model":'))).toEqual([400, 'malformed_json', 'model']);
    const text = await createVideo(url(), able, 'prompt=x', { 'Content-Type': 'text/plain' });
    expect(errorOf(text)).toEqual([415, 'unsupported_media_type', null]);
    expect(errorOf(await createVideo(url(), able, '{}', { 'Content-Encoding': 'gzip' }))[0]).toBe(415);
    const large = await createVideo(url(), able, `{"prompt":"${'x'.repeat(1_100_000)}"}`);
    expect(errorOf(large)).toEqual([413, 'body_too_large', null]);
    // Beside it everything is as it was.
    expect((await send(url(), { path: '/v1/videosx' })).headers['content-type']).toBe(
      'application/problem+json',
    );
  });

  it.each([
    ['POST', '/v1/videos/edits'],
    ['POST', '/v1/videos/extensions'],
    ['POST', '/v1/videos/characters'],
    ['GET', '/v1/videos/characters/char_1'],
    ['POST', '/v1/videos/gen_x/remix'],
  ])('%s %s is not offered, and says what is', async (method, path) => {
    const answer = await send(url(), { method, path });
    expect(errorOf(answer)).toEqual([404, 'not_found', null]);
    expect(messageOf(answer)).toContain('POST /v1/videos');
  });
});
