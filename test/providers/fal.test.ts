import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Method } from '../../src/domain/input-fields.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createFalProvider, fal } from '../../src/providers/fal.ts';
import { createProviders } from '../../src/providers/index.ts';
import { FAL_SIMULATOR_USER, falSimulator } from '../../src/simulators/fal.ts';
import { providerContract } from './contract.testsuite.ts';
import { cancelRows } from './fal-cancel-rows.ts';
import { keySet, signedHeaders, USER_ID } from './fal-keys.ts';
import { APP, JOB, NOW_MS, observeRows, submitRows } from './fal-rows.ts';

type Headers = Readonly<Record<string, string>>;

const SIGNATURE = 'x-fal-webhook-signature';
const forge = (name: string, change: (good: string) => string, header = SIGNATURE) =>
  [name, (good: Headers) => ({ ...good, [header]: change(good[header] ?? '') })] as const;
/** The job id in any body, also in a malformed one, so that header and body agree. */
const idIn = (body: Buffer): string => {
  const text = /"request_id":"([\x21-\x7e]*?)"/.exec(body.toString())?.[1] ?? JOB;
  return text === '' || text.length > 255 ? JOB : text;
};

providerContract({
  name: 'fal',
  create: (http, baseUrl, nowMs) =>
    createFalProvider({ http, baseUrl, nowMs, userIds: [USER_ID, FAL_SIMULATOR_USER] }),
  nowMs: NOW_MS,
  simulator: falSimulator,
  job: { method: 'text-to-video', providerModel: APP, params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'key_id:key_secret',
  jobId: JOB,
  handle: () => ({ jobId: JOB, app: APP }),
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'signed',
    timestamped: true,
    manySignatures: false,
    secret: 'pair-1',
    wrongKeyForms: [],
    // A set without any key is not to be had; one with others verifies nothing.
    keySet: (pairs) => keySet(['nobody', ...pairs]),
    configured: [],
    sign: (body, secrets, t) => signedHeaders(body, secrets[0] ?? '', t, { requestId: idIn(body) }),
    body: (id) => `{"request_id":"${id}","gateway_request_id":"${id}","status":"OK","payload":{}}`,
    verdict: { eventId: `${JOB}.OK`, type: 'OK', terminal: true, progress: null },
    forgeries: [
      forge('no signature', () => ''),
      forge('bad hex decodes to a short buffer', (good) => `zz${good.slice(2)}`),
      forge('one byte short', (good) => good.slice(2)),
      forge('one byte more', (good) => `${good}00`),
      forge('all zeros', (good) => '0'.repeat(good.length)),
      forge('base64', (good) => Buffer.from(good, 'hex').toString('base64')),
      forge('WHI-6 header twice', (good) => `${good}, ${good}`),
      forge('another request', (good) => `${good}0`, 'x-fal-webhook-request-id'),
      forge('another customer', () => 'github|666', 'x-fal-webhook-user-id'),
      forge('another time', (good) => String(Number(good) + 1), 'x-fal-webhook-timestamp'),
    ],
  },
  outputUrls: { own: 'https://v3.fal.media/files/a.mp4', foreign: 'https://evil.example/a.mp4' },
});

describe('fal: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createFalProvider({ http, baseUrl: 'https://queue.fal.run/', userIds: [USER_ID] });
  const build = (
    providerModel: string,
    input: JsonObject,
    { method = 'text-to-video', params = {}, callbackUrl = null as string | null } = {},
  ) =>
    provider.buildSubmit({
      method: method as Method,
      providerModel,
      input,
      params,
      callbackUrl,
      idempotencyKey: 'k',
    });
  const bodyOf = (...args: Parameters<typeof build>) => JSON.parse(build(...args).body) as unknown;

  test('the submit that its documentation shows', () => {
    expect(
      build('fal-ai/veo3', { prompt: 'otter' }, { callbackUrl: 'https://h.example/fal?a=1&b=2' }),
    ).toEqual({
      method: 'POST',
      path: '/fal-ai/veo3?fal_webhook=https%3A%2F%2Fh.example%2Ffal%3Fa%3D1%26b%3D2',
      contentType: 'application/json',
      body: '{"prompt":"otter"}',
    });
    expect(build('fal-ai/flux/schnell', { prompt: 'x' }).path).toBe('/fal-ai/flux/schnell');
  });

  test.each(['', 'veo3', '../x', 'a/../b', 'a/b?x', 'a//b', '/a/b', 'a/b/', 'https://h.example/x'])(
    'model %j is a defect',
    (model) => {
      expect(() => build(model, { prompt: 'x' })).toThrow(/providerModel/);
    },
  );

  test('fields under the usual names, with what single models want otherwise', () => {
    const image = 'https://example.com/a.png';
    const input = { prompt: 'p', image_url: image, duration_seconds: 5, aspect_ratio: '16:9', audio: true };
    const over = { method: 'image-to-video', params: { cfg_scale: 0.5 } };
    expect(bodyOf('fal-ai/kling-video/v2.1/pro/image-to-video', input, over)).toEqual({
      prompt: 'p',
      image_url: image,
      duration: '5',
      aspect_ratio: '16:9',
      generate_audio: true,
      cfg_scale: 0.5,
    });
    expect(bodyOf('fal-ai/veo3', { prompt: 'p', duration_seconds: 8 })).toEqual({
      prompt: 'p',
      duration: '8s',
    });
    const picture = { prompt: 'p', aspect_ratio: '9:16', count: 2, seed: 7 };
    expect(bodyOf('fal-ai/flux/schnell', picture, { method: 'text-to-image' })).toEqual({
      prompt: 'p',
      image_size: 'portrait_16_9',
      num_images: 2,
      seed: 7,
    });
    expect(bodyOf('fal-ai/x/tts', { text: 't', voice: 'v' }, { method: 'text-to-speech' })).toEqual({
      text: 't',
      voice: 'v',
    });
    const own = { method: 'text-to-image', params: { $fields: { aspect_ratio: 'ratio' } } };
    expect(bodyOf('fal-ai/flux/dev', { prompt: 'p', aspect_ratio: '1:1' }, own)).toEqual({
      prompt: 'p',
      ratio: '1:1',
    });
    expect(() =>
      bodyOf('fal-ai/flux/dev', { prompt: 'p', aspect_ratio: '21:9' }, { method: 'text-to-image' }),
    ).toThrow(/aspect_ratio of 21:9/);
  });

  test.each([
    ['/fal-ai/flux/dev?fal_webhook=https%3A%2F%2Fh.example%2Fx', 'fal-ai/flux'],
    ['/fal-ai/veo3', 'fal-ai/veo3'],
    ['/workflows/me/my-flow', 'workflows/me/my-flow'],
    ['/comfy/me/flow/sub', 'comfy/me/flow'],
  ])('the handle of %s knows its app without subpath', (path, app) => {
    expect(provider.handleFromJobId('r1', { path, body: '{}' })).toEqual({ jobId: 'r1', app });
  });

  test('a stored request or handle that is none of ours is a defect', async () => {
    expect(() => provider.handleFromJobId('r1', { path: '/x', body: '{}' })).toThrow(/path/);
    const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 100 };
    await expect(provider.observe({ jobId: 'r1' }, options)).rejects.toThrow(/app/);
  });

  test('capabilities, hosts, settings', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'signed',
      cancel: 'may_bill',
      list: false,
      cost: 'none',
      inlineInputBytes: 3_000_000,
    });
    expect(provider.outputHosts).toEqual(['fal.media', '*.fal.media']);
    const elsewhere = createFalProvider({ http, baseUrl: 'https://x.example' });
    expect(elsewhere.capabilities.callbacks).toBe('none');
    expect(elsewhere.outputHosts).toEqual(['fal.media', '*.fal.media', 'x.example']);
    const own = createFalProvider({ http, baseUrl: 'https://queue.fal.run', outputHosts: ['o'] });
    expect(own.outputHosts).toEqual(['o']);
    expect(own.downloadAuth(new URL('https://v3.fal.media/a'), { name: 'default', apiKey: 'k' })).toEqual({});
    expect(() => createFalProvider({ http, baseUrl: 'fal' })).toThrow(/PROVIDER_FAL_BASE_URL/);
  });
});

describe('fal: settings', () => {
  const problemsOf = (settings: Record<string, string>) => {
    const read = fal.configure(settings);
    return 'problems' in read ? read.problems : [];
  };

  test('with our user id it signs, without it is polled; no secret is needed', () => {
    const http = createOutboundHttp({ allow: [] });
    const providers = (settings: Record<string, string>) =>
      createProviders({ http, providers: new Map([['fal', { settings }]]) });
    expect(providers({ USER_ID: 'github|1, github|2' }).get('fal')?.capabilities.callbacks).toBe('signed');
    expect(providers({}).get('fal')?.capabilities.callbacks).toBe('none');
    expect(fal.configure({})).toMatchObject({ configured: { webhookSecret: 'none' } });
    expect(fal.baseUrl).toBe('https://queue.fal.run');
  });

  test.each([
    ['USER_ID', 'a,,b'],
    ['USER_ID', 'a b'],
    ['JWKS_URL', 'rest.fal.ai'],
    ['OUTPUT_HOSTS', 'https://cdn.example'],
    ['OUTPUT_KEYS', 'a b'],
    ['RESULT_TTL_MS', '0'],
    ['LARGE_RESULT_TTL_MS', '6 min'],
  ])('%s=%j is told', (setting, text) => {
    expect(problemsOf({ [setting]: text })).toEqual([
      { setting, problem: expect.stringMatching(/^must be /) as string },
    ]);
    expect(JSON.stringify(problemsOf({ [setting]: text }))).not.toContain(`"${text}"`);
  });
});
