import { describe, expect, test } from 'vitest';
import type { Method } from '../../src/domain/input-fields.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createVeoProvider, veo } from '../../src/providers/veo.ts';
import { veoSimulator } from '../../src/simulators/veo.ts';
import { providerContract } from './contract.testsuite.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';
import { JOB, MODEL, NOW_MS, observeRows } from './veo-rows.ts';
import { submitRows } from './veo-submit-rows.ts';

const API_KEY = 'AIza-key';

// Polled, as it is without a webhook's audience; its callbacks are in veo-callbacks.test.ts.
providerContract({
  name: 'veo',
  create: (http, baseUrl, nowMs) => createVeoProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: veoSimulator,
  job: { method: 'text-to-video', providerModel: MODEL, params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 4 }),
  apiKey: API_KEY,
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows: [],
  callbacks: null,
  outputUrls: {
    own: 'https://generativelanguage.googleapis.com/v1beta/files/a:download?alt=media',
    foreign: 'https://storage.googleapis.com/a.mp4',
  },
  life: {
    // The operation is shown on; the file of its link is gone.
    expired: { kind: 'succeeded' },
  },
});

describe('veo: submit', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createVeoProvider({ http, baseUrl: 'https://generativelanguage.googleapis.com' });
  const called = createVeoProvider({
    http,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/',
    webhookAudiences: ['projects/ours'],
  });
  const build = (
    input: JsonObject,
    {
      by = provider,
      method = 'text-to-video',
      model = MODEL,
      params = {},
      callbackUrl = null as string | null,
    } = {},
  ) =>
    by.buildSubmit({
      method: method as Method,
      providerModel: model,
      input,
      params,
      callbackUrl,
      idempotencyKey: 'k',
    });
  const bodyOf = (...args: Parameters<typeof build>) => JSON.parse(build(...args).body) as unknown;

  test('every field in its place, and the route’s params beside them', () => {
    const input = {
      prompt: 'otter',
      negative_prompt: 'rain',
      duration_seconds: 8,
      resolution: '1080p',
      aspect_ratio: '16:9',
      count: 2,
    };
    expect(build(input, { params: { personGeneration: 'allow_adult' } })).toEqual({
      method: 'POST',
      path: `/v1beta/models/${MODEL}:predictLongRunning`,
      contentType: 'application/json',
      body: JSON.stringify({
        instances: [{ prompt: 'otter' }],
        parameters: {
          aspectRatio: '16:9',
          durationSeconds: 8,
          negativePrompt: 'rain',
          personGeneration: 'allow_adult',
          resolution: '1080p',
          sampleCount: 2,
        },
      }),
    });
    expect(bodyOf({ prompt: 'otter' })).toEqual({ instances: [{ prompt: 'otter' }] });
  });

  test('an image as bare base64 with its type, of which parts of its mark stand in the frozen bytes', () => {
    const image_url = 'https://input.invalid/sub_1/image_url';
    expect(bodyOf({ image_url, prompt: 'waves' }, { method: 'image-to-video' })).toEqual({
      instances: [
        {
          image: { bytesBase64Encoded: `${image_url}#base64`, mimeType: `${image_url}#media-type` },
          prompt: 'waves',
        },
      ],
    });
    expect(provider.inlineInputsOnly).toBe(true);
  });

  test('a callback is asked for only where its token could be verified', () => {
    const callbackUrl = 'https://h.example/callbacks/veo/t';
    expect(bodyOf({ prompt: 'x' }, { callbackUrl })).not.toHaveProperty('webhookConfig');
    expect(bodyOf({ prompt: 'x' }, { by: called, callbackUrl })).toHaveProperty('webhookConfig', {
      uris: [callbackUrl],
    });
    expect(bodyOf({ prompt: 'x' }, { by: called })).not.toHaveProperty('webhookConfig');
  });

  test.each(['', '..', 'a/b', 'models/veo', 'veo?x', 'veo:x', 'veo#', 'https://h.example', '-veo'])(
    'model %j is a defect',
    (model) => {
      expect(() => build({ prompt: 'x' }, { model })).toThrow(/providerModel/);
    },
  );

  test('what Vertex AI alone takes, and params that set what the input has, are defects', () => {
    expect(() => build({ prompt: 'x', seed: 1 })).toThrow(/takes no seed/);
    expect(() => build({ prompt: 'x', audio: true })).toThrow(/takes no audio/);
    expect(() => build({ prompt: 'x', image_url: 'https://a.example/b.png' })).toThrow(/takes no image_url/);
    expect(() => build({ prompt: 'x', duration_seconds: 4 }, { params: { durationSeconds: 8 } })).toThrow(
      /durationSeconds/,
    );
    expect(() => build({ prompt: 'x' }, { params: { image: 'y' } })).toThrow(/image/);
  });

  test('capabilities, hosts, the version of the path', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: 14_000_000,
    });
    expect(called.capabilities.callbacks).toBe('signed');
    expect(provider.outputHosts).toEqual([
      'generativelanguage.googleapis.com',
      '*.googleapis.com',
      '*.googleusercontent.com',
    ]);
    const own = createVeoProvider({ http, baseUrl: 'https://gateway.example/g', apiVersion: 'v1' });
    expect(own.outputHosts).toEqual(['gateway.example']);
    expect(build({ prompt: 'x' }, { by: own }).path).toBe(`/v1/models/${MODEL}:predictLongRunning`);
    expect(() => createVeoProvider({ http, baseUrl: 'veo' })).toThrow(/PROVIDER_VEO_BASE_URL/);
  });
});

describe('veo: settings', () => {
  test('a secret is needed for the webhook of the project only', () => {
    expect(veo.configure({})).toMatchObject({ configured: { webhookSecret: 'none' } });
    expect(veo.configure({ WEBHOOK_AUDIENCE: 'projects/ours' })).toMatchObject({
      configured: { webhookSecret: 'none' },
    });
    expect(veo.configure({ STATIC_WEBHOOKS: 'true' })).toMatchObject({
      configured: { webhookSecret: 'required' },
    });
    expect(veo.baseUrl).toBe('https://generativelanguage.googleapis.com');
  });

  test('CONTENT_MESSAGE, LINK_LIFE_MS and COST_UNIT are used', async () => {
    const server = await ScriptedServer.start();
    const http = httpTo(server.url);
    const read = veo.configure({ CONTENT_MESSAGE: 'forbidden', LINK_LIFE_MS: '1000', COST_UNIT: 'EUR' });
    if ('problems' in read) throw new Error('refused');
    const provider = read.configured.create({ http, baseUrl: server.url, nowMs: () => NOW_MS });
    const options = { credential: { name: 'default', apiKey: API_KEY }, timeoutMs: 10_000 };
    const look = (members: object) => {
      server.answer = { status: 200, body: JSON.stringify({ name: JOB, done: true, ...members }) };
      return provider.observe({ jobId: JOB }, options);
    };
    expect(await look({ error: { code: 3, message: 'FORBIDDEN words' } })).toMatchObject({
      code: 'content_rejected',
    });
    expect(await look({ error: { code: 3, message: 'usage guidelines' } })).toMatchObject({
      code: 'invalid_input',
    });
    const generatedSamples = [{ video: { uri: 'https://h.example/a' } }];
    expect(await look({ response: { generateVideoResponse: { generatedSamples } } })).toMatchObject({
      linkExpiresAt: new Date(NOW_MS + 1_000),
      cost: null,
    });
    const filtered = { response: { generateVideoResponse: { raiMediaFilteredCount: 1 } } };
    expect(await look(filtered)).toMatchObject({ cost: { amount: '0', unit: 'EUR', final: true } });
    await http.close();
    await server.close();
  });

  test.each([
    'projects/*',
    'projects*',
    'projects//*',
    'projects/-/*',
    'production-webhooks/*',
    'https://generativelanguage.googleapis.com/production-webhooks/*',
    'projects/123456789012*',
    'projects/1234*/webhooks',
    'projects/123456789012/**',
    'https://*',
    'https://generativelanguage.googleapis.com/*',
    'https://generativelanguage.googleapis.com/v1beta/*',
    '//generativelanguage.googleapis.com/projects/*',
    'generativelanguage/*',
  ])('a * that would take the tokens of others is told: %s', (audience) => {
    for (const text of [audience, `projects/ours,${audience}`]) {
      const read = veo.configure({ WEBHOOK_AUDIENCE: text });
      expect('problems' in read ? read.problems : []).toEqual([
        { setting: 'WEBHOOK_AUDIENCE', problem: expect.stringMatching(/^must be .* yours alone/) as string },
      ]);
    }
  });

  test.each([
    'projects/ours',
    'projects/123456789012/*',
    'projects/our-media-production/*',
    'projects/acme-prod/*',
    'https://generativelanguage.googleapis.com/v1beta/projects/acme-prod/webhooks/*',
    'https://generativelanguage.googleapis.com/v1beta/projects/123456789012/*',
    'https://h.example/callbacks/veo/*',
  ])('an audience that is one’s own: %s', (audience) => {
    expect(veo.configure({ WEBHOOK_AUDIENCE: audience })).toHaveProperty('configured');
  });

  test.each([
    ['API_VERSION', 'v2'],
    ['WEBHOOK_AUDIENCE', 'a b c d e f g'],
    ['WEBHOOK_AUDIENCE', '*'],
    ['WEBHOOK_AUDIENCE', 'projects/ours,,projects/two'],
    ['COST_UNIT', '$'],
    ['STATIC_WEBHOOKS', 'yes'],
    ['JWKS_URL', 'generativelanguage.googleapis.com'],
    ['OUTPUT_HOSTS', 'https://cdn.example'],
    ['CONTENT_MESSAGE', '('],
    ['LINK_LIFE_MS', '2 d'],
  ])('%s=%j is told', (setting, text) => {
    const read = veo.configure({ [setting]: text });
    expect('problems' in read ? read.problems : []).toEqual([
      { setting, problem: expect.stringMatching(/^must be /) as string },
    ]);
  });
});
