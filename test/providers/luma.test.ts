import { describe, expect, test } from 'vitest';
import type { Method } from '../../src/domain/input-fields.ts';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { inlineMark } from '../../src/providers/frozen-submit.ts';
import { createLumaProvider, luma as lumaDefinition } from '../../src/providers/luma.ts';
import { startSimulator } from '../../src/simulators/core.ts';
import { lumaSimulator } from '../../src/simulators/luma.ts';
import { providerContract } from './contract.testsuite.ts';
import { CREDENTIAL_NAME } from './fixture.ts';
import { JOB, NOW_MS, observeRows, submitRows } from './luma-rows.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

providerContract({
  name: 'luma',
  create: (http, baseUrl, nowMs) => createLumaProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: lumaSimulator,
  job: { method: 'text-to-video', providerModel: 'ray-3.2', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 5, resolution: '540p', aspect_ratio: '16:9' }),
  apiKey: 'luma-api-key',
  jobId: JOB,
  submitRows,
  observeRows,
  // It offers no cancel.
  cancelRows: [],
  callbacks: null,
  outputUrls: {
    own: 'https://luma-outputs.s3.us-west-2.amazonaws.com/o.mp4',
    foreign: 'https://evil.example/a.mp4',
  },
  // Each look gives fresh links.
  life: { expired: { kind: 'succeeded' } },
});

describe('luma: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const luma = createLumaProvider({ http, baseUrl: 'https://agents.lumalabs.ai/v1/' });
  const job = (over: Partial<SubmitJob>): SubmitJob => ({
    method: 'text-to-video',
    providerModel: 'ray-3.2',
    input: { prompt: 'rain' },
    params: {},
    callbackUrl: null,
    idempotencyKey: 'k',
    ...over,
  });
  const mark = inlineMark('sub_1', 'image_url');

  test.each([
    [
      'text-to-video',
      'ray-3.2',
      { prompt: 'dolly shot', aspect_ratio: '21:9', duration_seconds: 10, resolution: '720p' },
      {},
      {
        type: 'video',
        prompt: 'dolly shot',
        aspect_ratio: '21:9',
        video: { duration: '10s', resolution: '720p' },
      },
    ],
    [
      'text-to-video',
      'ray-3.2',
      { prompt: 'x' },
      { user_id: 'u-1', video: { loop: true } },
      { type: 'video', prompt: 'x', user_id: 'u-1', video: { loop: true } },
    ],
    ['text-to-video', 'ray-3.2', { prompt: 'x' }, {}, { type: 'video', prompt: 'x' }],
    [
      'image-to-video',
      'ray-3.2',
      { prompt: 'she smiles', image_url: 'https://h.example/a.png', duration_seconds: 5 },
      { video: { hdr: true } },
      {
        type: 'video',
        prompt: 'she smiles',
        video: { duration: '5s', hdr: true, start_frame: { url: 'https://h.example/a.png' } },
      },
    ],
    [
      'image-to-video',
      'ray-3.2',
      { prompt: 'inline', image_url: mark },
      {},
      {
        type: 'video',
        prompt: 'inline',
        video: { start_frame: { data: `${mark}#base64`, media_type: `${mark}#media-type` } },
      },
    ],
    [
      'text-to-image',
      'uni-1',
      { prompt: 'iced coffee', aspect_ratio: '3:2' },
      { output_format: 'png', style: 'manga' },
      { type: 'image', prompt: 'iced coffee', aspect_ratio: '3:2', output_format: 'png', style: 'manga' },
    ],
    [
      'text-to-video',
      'ray-3.2',
      { prompt: 'x', duration_seconds: 4 },
      { $fields: { duration_seconds: { name: 'duration', values: { 4: '5s' } } } },
      { type: 'video', prompt: 'x', video: { duration: '5s' } },
    ],
  ] as [Method, string, SubmitJob['input'], SubmitJob['params'], object][])(
    '%s with %s, by the types of luma-agents: %j %j',
    (method, providerModel, input, params, body) => {
      const built = luma.buildSubmit(job({ method, providerModel, input, params }));
      expect(built).toMatchObject({
        method: 'POST',
        path: '/v1/generations',
        contentType: 'application/json',
      });
      expect(JSON.parse(built.body)).toEqual({ model: providerModel, ...body });
    },
  );

  test.each([
    ['a method that it lacks', { method: 'text-to-speech' }, /text-to-speech/],
    ['a field that it lacks', { input: { prompt: 'x', seed: 1 } }, /seed/],
    ['a field of another method', { input: { prompt: 'x', image_url: 'https://h.example/a' } }, /image_url/],
    ['a length that it lacks', { input: { prompt: 'x', duration_seconds: 7 } }, /duration_seconds of 7/],
    ['an own model in params', { params: { model: 'x' } }, /"model"/],
    ['an own type in params', { params: { type: 'image' } }, /"type"/],
    ['an own prompt in params', { params: { prompt: 'x' } }, /"prompt"/],
    [
      'an own length in params',
      { input: { prompt: 'x', duration_seconds: 5 }, params: { video: { duration: '10s' } } },
      /"duration"/,
    ],
    ['options that are no object', { params: { video: 'loop' } }, /params\.video must be an object/],
  ] as [string, Partial<SubmitJob>, RegExp][])('%s is a defect', (_name, over, message) => {
    expect(() => luma.buildSubmit(job(over))).toThrow(message);
  });

  test('capabilities, hosts', () => {
    expect(luma.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: 20_000_000,
    });
    expect(luma.outputHosts).toEqual(['*.lumalabs.ai', '*.amazonaws.com']);
    expect(luma.downloadAuth(new URL('https://agents.lumalabs.ai/x'), { name: 'a', apiKey: 'k' })).toEqual(
      {},
    );
    expect(createLumaProvider({ http, baseUrl: 'https://x.example' }).outputHosts).toEqual(['x.example']);
    expect(() => createLumaProvider({ http, baseUrl: 'luma' })).toThrow(/PROVIDER_LUMA_BASE_URL/);
  });

  test('settings from texts', () => {
    const set = lumaDefinition.configure({
      OUTPUT_HOSTS: 'a.example',
      LINK_LIFE_MS: '60000',
      CONTENT_MESSAGE: 'nsfw',
    });
    if ('problems' in set) throw new Error(set.problems[0]?.problem);
    expect(set.configured.webhookSecret).toBe('none');
    const made = set.configured.create({ http, baseUrl: 'https://x.example' });
    expect(made).toMatchObject({ name: 'luma', outputHosts: ['a.example'] });
    for (const texts of [{ OUTPUT_HOSTS: '*' }, { LINK_LIFE_MS: '1h' }, { CONTENT_MESSAGE: '(' }]) {
      expect(lumaDefinition.configure(texts)).toMatchObject({
        problems: [{ setting: Object.keys(texts)[0] }],
      });
    }
  });
});

test('luma: settings change how texts and links are read', async () => {
  const server = await ScriptedServer.start();
  const http = httpTo(server.url);
  const luma = createLumaProvider({
    http,
    baseUrl: server.url,
    nowMs: () => NOW_MS,
    contentMessage: /nsfw/i,
    linkLifeMs: 60_000,
  });
  const options = { credential: { name: CREDENTIAL_NAME, apiKey: 'luma-api-key' }, timeoutMs: 10_000 };
  try {
    const request = luma.buildSubmit({
      method: 'text-to-image',
      providerModel: 'uni-1',
      input: { prompt: 'x' },
      params: {},
      callbackUrl: null,
      idempotencyKey: 'k',
    });
    const refusal = async (detail: string) => {
      server.answer = { status: 400, body: JSON.stringify({ detail }) };
      return luma.submit(request, 'k', options);
    };
    expect(await refusal('NSFW prompt')).toMatchObject({ code: 'content_rejected' });
    expect(await refusal('flagged by moderation')).toMatchObject({ code: 'invalid_input' });
    const output = [{ type: 'image', url: 'https://h.example/a.png' }];
    server.answer = { status: 200, body: JSON.stringify({ id: JOB, state: 'completed', output }) };
    expect(await luma.observe({ jobId: JOB }, options)).toMatchObject({
      kind: 'succeeded',
      linkExpiresAt: new Date(NOW_MS + 60_000),
    });
    expect(server.seen.every(({ headers }) => headers['authorization'] === 'Bearer luma-api-key')).toBe(true);
  } finally {
    await http.close();
    await server.close();
  }
});

test('luma: behind a wrong base URL nothing is said about a generation', async () => {
  const simulator = await startSimulator(lumaSimulator, { renderMs: 600_000 });
  const http = httpTo(simulator.url);
  const options = { credential: { name: CREDENTIAL_NAME, apiKey: 'sim-key' }, timeoutMs: 10_000 };
  const look = (baseUrl: string) => createLumaProvider({ http, baseUrl }).observe({ jobId: JOB }, options);
  try {
    expect(await look(simulator.url)).toEqual({ kind: 'not_found' });
    expect(await look(`${simulator.url}/dream-machine`)).toMatchObject({
      kind: 'unavailable',
      reason: 'http_404',
    });
  } finally {
    await http.close();
    await simulator.close();
  }
});
