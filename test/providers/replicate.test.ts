import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Method } from '../../src/domain/input-fields.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createReplicateProvider, replicate } from '../../src/providers/replicate.ts';
import { replicateSimulator } from '../../src/simulators/replicate.ts';
import { providerContract } from './contract.testsuite.ts';
import { cancelRows, JOB, NOW_MS, observeRows, submitRows } from './replicate-rows.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';

type Headers = Readonly<Record<string, string>>;

/** Written from the specification, apart from what is tested. */
const sign = (body: Buffer, secrets: readonly string[], t: string | number): Headers => ({
  'webhook-id': ID,
  'webhook-timestamp': String(t),
  'webhook-signature': secrets
    .map((secret) => Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .map((key) => createHmac('sha256', key).update(`${ID}.${t}.`).update(body).digest('base64'))
    .map((signature) => `v1,${signature}`)
    .join(' '),
});
const forge = (name: string, change: (good: string) => string, header = 'webhook-signature') =>
  [name, (good: Headers) => ({ ...good, [header]: change(good[header] ?? '') })] as const;
const base64 = (text: string) => Buffer.from(text).toString('base64');

providerContract({
  name: 'replicate',
  create: (http, baseUrl, nowMs) => createReplicateProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: replicateSimulator,
  job: { method: 'text-to-video', providerModel: 'minimax/video-01', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'r8_key',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'signed',
    timestamped: true,
    manySignatures: true,
    secret: SECRET,
    // The secret's text as the key, with and without its prefix, as other providers use it.
    wrongKeyForms: [`whsec_${base64(SECRET)}`, `whsec_${base64(SECRET.slice(6))}`],
    sign,
    body: (id) => `{"id":"${id}","status":"succeeded","output":null,"data_removed":false}`,
    verdict: { eventId: ID, type: 'prediction.succeeded', terminal: true, progress: null },
    forgeries: [
      forge('WHI-4 only v2', (good) => good.replace('v1,', 'v2,')),
      forge('WHI-4 v1a', (good) => good.replace('v1,', 'v1a,')),
      forge('upper-case version', (good) => good.replace('v1,', 'V1,')),
      forge('no version', (good) => good.replace('v1,', '')),
      forge('version alone', () => 'v1,'),
      forge('first eight characters', (good) => good.slice(0, 'v1,'.length + 8)),
      forge('one character more', (good) => `${good}=`),
      forge('no padding', (good) => good.replace(/=$/, '')),
      forge('base64url', (good) => good.replaceAll('+', '-').replaceAll('/', '_').replace(/=$/, '')),
      forge('another spelling of the last bits', (good) =>
        good.replace(/.=$/, (end) => `${nextLetter(end)}=`),
      ),
      forge('WHI-6 header twice', (good) => `${good}, ${good}`),
      forge('two spaces', (good) => `${good}  ${good}`),
      forge('a space at its end', (good) => `${good} `),
      forge('more than sixteen', (good) => `${good}${` ${good}`.repeat(16)}`),
      forge('more than 4 kB', (good) => `${good} v9,${'0'.repeat(4_096)}`),
      forge('no id', () => '', 'webhook-id'),
      forge('another id', (good) => `${good}x`, 'webhook-id'),
      forge('WHI-6 id twice', (good) => `${good}, ${good}`, 'webhook-id'),
      forge('another time', (good) => String(Number(good) + 1), 'webhook-timestamp'),
    ],
  },
  outputUrls: { own: 'https://replicate.delivery/a.mp4', foreign: 'https://evil.example/a.mp4' },
});

/** A letter that decodes to the same four bits before the padding. */
function nextLetter(end: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return letters[letters.indexOf(end[0] ?? '') + 1] ?? '';
}

describe('replicate: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createReplicateProvider({ http, baseUrl: 'https://api.replicate.com/v1/' });
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
    const version = '9dcd'.repeat(16);
    expect(build(version, { prompt: 'otter' }, { callbackUrl: 'https://h.example/rep?gen=42' })).toEqual({
      method: 'POST',
      path: '/v1/predictions',
      contentType: 'application/json',
      body:
        `{"input":{"prompt":"otter"},"version":"${version}",` +
        '"webhook":"https://h.example/rep?gen=42","webhook_events_filter":["completed"]}',
    });
  });

  test.each([
    ['owner/name', '/v1/models/owner/name/predictions', {}],
    ['deployments/me/my-app', '/v1/deployments/me/my-app/predictions', {}],
    [`owner/name:${'0a'.repeat(32)}`, '/v1/predictions', { version: '0a'.repeat(32) }],
  ])('model %s', (model, path, members) => {
    expect(build(model, { prompt: 'x' }).path).toBe(path);
    expect(bodyOf(model, { prompt: 'x' })).toEqual({ ...members, input: { prompt: 'x' } });
  });

  test.each([
    '',
    'name',
    '../x',
    'a/../b',
    'a/b/c',
    'a/b?x',
    'owner/name:v1',
    'deployments/x',
    'https://h/x',
  ])('model %j is a defect', (model) => {
    expect(() => build(model, { prompt: 'x' })).toThrow(/providerModel/);
  });

  test('fields under the usual names, and params beside them', () => {
    const input = {
      prompt: 'p',
      negative_prompt: 'n',
      image_url: 'https://example.com/a.png',
      duration_seconds: 5,
      resolution: '720p',
      aspect_ratio: '16:9',
      mode: 'pro',
      audio: true,
      seed: 7,
    };
    expect(bodyOf('o/n', input, { method: 'image-to-video', params: { cfg: 0.5 } })).toEqual({
      input: {
        prompt: 'p',
        negative_prompt: 'n',
        image: 'https://example.com/a.png',
        duration: 5,
        resolution: '720p',
        aspect_ratio: '16:9',
        mode: 'pro',
        generate_audio: true,
        seed: 7,
        cfg: 0.5,
      },
    });
    expect(bodyOf('o/n', { prompt: 'p', count: 3 }, { method: 'text-to-image' })).toEqual({
      input: { prompt: 'p', num_outputs: 3 },
    });
    expect(bodyOf('o/n', { text: 't', voice: 'Maya' }, { method: 'text-to-speech' })).toEqual({
      input: { text: 't', voice: 'Maya' },
    });
  });

  test('a route tells other names, texts and values of its model', () => {
    const params = {
      $fields: {
        image_url: 'start_image',
        duration_seconds: { name: 'num_frames', values: { 5: 81, 10: 161 } },
        resolution: { name: 'size', text: '{}*' },
      },
    };
    const input = {
      prompt: 'p',
      image_url: 'https://e.example/$&.png',
      duration_seconds: 10,
      resolution: '$&',
    };
    expect(bodyOf('o/n', input, { method: 'image-to-video', params })).toEqual({
      input: { prompt: 'p', start_image: 'https://e.example/$&.png', num_frames: 161, size: '$&*' },
    });
    expect(() =>
      build('o/n', { ...input, duration_seconds: 7 }, { method: 'image-to-video', params }),
    ).toThrow(/takes no duration_seconds of 7/);
  });

  test('what cannot be sent is a defect', () => {
    expect(() => build('o/n', { prompt: 'p', count: 2 })).toThrow(/takes no count for text-to-video/);
    expect(() => build('o/n', { prompt: 'p' }, { params: { prompt: 'other' } })).toThrow(/prompt/);
    expect(() => build('o/n', { prompt: 'p' }, { params: { $fields: { colour: 'x' } } })).toThrow(/\$fields/);
    expect(() => build('o/n', { prompt: 'p' }, { params: { $fields: { seed: '../x' } } })).toThrow(
      /\$fields/,
    );
  });

  test('capabilities, hosts, settings; the key goes to its own hosts only', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'signed',
      cancel: 'may_bill',
      list: true,
      cost: 'estimate',
      inlineInputBytes: 180_000,
    });
    expect(provider.outputHosts).toEqual(['replicate.delivery', '*.replicate.delivery', 'api.replicate.com']);
    const auth = (url: string) => provider.downloadAuth(new URL(url), { name: 'default', apiKey: 'k' });
    const withKey = { authorization: 'Bearer k' };
    expect(auth('https://replicate.delivery/x')).toEqual(withKey);
    expect(auth('https://a.replicate.delivery/x')).toEqual(withKey);
    expect(auth('https://api.replicate.com/v1/files/x')).toEqual(withKey);
    for (const url of [
      'http://replicate.delivery/x',
      'https://replicate.delivery.evil.example/x',
      'https://h.example/',
    ]) {
      expect(auth(url)).toEqual({});
    }
    const own = createReplicateProvider({ http, baseUrl: 'https://x.example', outputHosts: ['cdn.example'] });
    expect(own.outputHosts).toEqual(['cdn.example']);
    expect(own.downloadAuth(new URL('https://cdn.example/a'), { name: 'default', apiKey: 'k' })).toEqual({});
    expect(() => createReplicateProvider({ http, baseUrl: 'replicate' })).toThrow(
      /PROVIDER_REPLICATE_BASE_URL/,
    );
  });

  const verify = (text: string) => {
    const body = Buffer.from(text);
    return provider.verifyCallback(sign(body, [SECRET], 1_000), body, [SECRET], 1e6);
  };

  test.each([
    ['starting', false],
    ['processing', false],
    ['canceled', true],
    ['aborted', true],
    ['Succeeded', false],
  ])('a callback with %s', async (status, terminal) => {
    expect(await verify(JSON.stringify({ id: JOB, status }))).toMatchObject({
      ok: true,
      type: `prediction.${status}`,
      terminal,
    });
  });

  test('settings', () => {
    expect(replicate.baseUrl).toBe('https://api.replicate.com');
    const settings = { CONTENT_ERRORS: 'forbidden', DATA_TTL_MS: '60000', OUTPUT_HOSTS: 'cdn.example' };
    expect(replicate.configure(settings)).toMatchObject({ configured: { webhookSecret: 'required' } });
    for (const [setting, text] of [
      ['CONTENT_ERRORS', '('],
      ['DATA_TTL_MS', '1h'],
      ['OUTPUT_HOSTS', ''],
    ] as const) {
      expect(replicate.configure({ [setting]: text })).toMatchObject({ problems: [{ setting }] });
    }
  });
});
