import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createAigenwayProvider } from '../../src/providers/aigenway.ts';
import { createProviders } from '../../src/providers/index.ts';
import { aigenwaySimulator } from '../../src/simulators/aigenway.ts';
import { cancelRows, FILE_URL, NOW_MS, observeRows, submitRows, TASK } from './aigenway-rows.ts';
import { providerContract } from './contract.testsuite.ts';

const HEADER = 'x-aggregator-signature';
const digest = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex');
const sign = (body: Buffer, [secret = '']: readonly string[]) => ({
  [HEADER]: `sha256=${digest(body, secret)}`,
});
const forge = (name: string, change: (good: string) => string) =>
  [name, (good: Readonly<Record<string, string>>) => ({ [HEADER]: change(good[HEADER] ?? '') })] as const;
const route = { provider: 'kling' };
const body = (id: string) =>
  `{"event":"generation.completed","task_id":"${id}","status":"succeeded","charged_amount":"12000000","error":null}`;

providerContract({
  name: 'aigenway',
  create: (http, baseUrl, nowMs) => createAigenwayProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: aigenwaySimulator,
  job: { method: 'text-to-video', providerModel: 'kling-v2-master', params: route },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'sk_live_aigenway',
  jobId: TASK,
  submitRows,
  observeRows,
  cancelRows,
  // Its files are listed for ever: the download finds out.
  life: {
    expired: {
      kind: 'succeeded',
      outputs: [{ url: expect.stringMatching(/\.mp4$/) as string }],
      linkExpiresAt: null,
    },
  },
  callbacks: {
    kind: 'signed',
    timestamped: false,
    manySignatures: false,
    secret: 'whsec_c2VjcmV0',
    wrongKeyForms: ['c2VjcmV0', 'secret'],
    sign,
    body,
    verdict: { eventId: null, type: 'generation.succeeded', terminal: true, progress: null },
    forgeries: [
      forge('another scheme', (good) => good.replace('sha256=', 'sha512=')),
      forge('upper-case hex', (good) => `sha256=${good.slice(7).toUpperCase()}`),
      forge('one digit short', (good) => good.slice(0, -1)),
      forge('one digit more', (good) => `${good}0`),
      forge('WHI-6 header twice', (good) => `${good}, ${good}`),
      forge('a space', (good) => ` ${good}`),
      forge('prefix twice', (good) => `sha256=${good}`),
      forge('base64', (good) => `sha256=${Buffer.from(good.slice(7), 'hex').toString('base64')}`),
      ['another task in the header', (good) => ({ ...good, 'x-aggregator-task-id': 'cmother' })],
    ],
  },
  outputUrls: { own: FILE_URL, foreign: 'https://evil.example/a.mp4' },
});

describe('aigenway: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createAigenwayProvider({ http, baseUrl: 'https://api.aigenway.com/' });
  const build = (over: object = {}) =>
    provider.buildSubmit({
      method: 'text-to-video',
      providerModel: 'kling-v2-master',
      input: { prompt: 'fog', duration_seconds: 5 },
      params: route,
      callbackUrl: 'https://h.example/aig',
      idempotencyKey: 'k',
      ...over,
    });
  const sent = (over: object = {}): unknown => JSON.parse(build(over).body);

  test('the submit that its article shows', () => {
    expect(build()).toMatchObject({
      method: 'POST',
      path: '/v1/generations',
      contentType: 'application/json',
    });
    expect(sent()).toEqual({
      provider: 'kling',
      model: 'kling-v2-master',
      method: 'text_to_video',
      params: { prompt: 'fog', duration: 5 },
      callback_url: 'https://h.example/aig',
    });
    expect(sent({ callbackUrl: null })).not.toHaveProperty('callback_url');
  });

  test('the submit of its Kling guide, by the params of the route', () => {
    const params = {
      provider: 'kling_ai',
      params: { sound: true },
      $fields: { duration_seconds: 'duration_seconds' },
    };
    const input = {
      image_url: 'https://i.example/p.jpg',
      prompt: 'turns',
      duration_seconds: 5,
      mode: 'pro',
      resolution: '1080p',
    };
    expect(sent({ method: 'image-to-video', params, input, callbackUrl: null })).toEqual({
      provider: 'kling_ai',
      model: 'kling-v2-master',
      method: 'image_to_video',
      params: {
        prompt: 'turns',
        input_images: ['https://i.example/p.jpg'],
        mode: 'pro',
        resolution: '1080p',
        duration_seconds: 5,
        sound: true,
      },
    });
  });

  test.each([
    [{ params: {} }, /"provider"/],
    [{ params: { ...route, params: 'x' } }, /no object/],
    [{ params: { ...route, model: 'mine' } }, /"model"/],
    [{ params: { ...route, params: { prompt: 'mine' } } }, /"prompt"/],
    [{ input: { prompt: 'x', seed: 1 } }, /seed/],
    [{ input: { prompt: 'x', image_url: 'https://i.example/p' } }, /image_url/],
    [{ method: 'text-to-speech' }, /text-to-speech/],
  ])('%o is a defect of the catalogue', (over, expected) => {
    expect(() => build(over)).toThrow(expected);
  });

  test('capabilities, hosts, key of a download, settings', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: 'unsupported',
      list: false,
      cost: 'estimate',
      inlineInputBytes: 0,
    });
    expect(provider.outputHosts).toEqual(['api.aigenway.com', '*.aigenway.com']);
    const credential = { name: 'default', apiKey: 'k' };
    const auth = (url: string, of = provider) => of.downloadAuth(new URL(url), credential);
    expect(auth(FILE_URL)).toEqual({ authorization: 'Bearer k' });
    for (const other of [
      'http://api.aigenway.com/f',
      'https://api.aigenway.com:8443/f',
      'https://cdn.aigenway.com/f',
    ]) {
      expect(auth(other)).toEqual({});
    }
    const of = (settings: Record<string, string>) =>
      createProviders({ http, providers: new Map([['aigenway', { settings }]]) }).get('aigenway')!;
    expect(auth(FILE_URL, of({ DOWNLOAD_KEY: 'false' }))).toEqual({});
    expect(() => of({ DOWNLOAD_KEY: 'maybe' })).toThrow(/DOWNLOAD_KEY must be true or false/);
    expect(() => of({ SIGNATURE_HEADER: 'X Y' })).toThrow(/SIGNATURE_HEADER must be the name of a header/);
  });

  test('another header and encoding, where its pages are wrong', async () => {
    const settings = { SIGNATURE_HEADER: 'X-Sig', SIGNATURE_ENCODING: 'base64' };
    const other = createProviders({ http, providers: new Map([['aigenway', { settings }]]) }).get(
      'aigenway',
    )!;
    const raw = Buffer.from(body(TASK));
    const signature = Buffer.from(digest(raw, 's'), 'hex').toString('base64');
    const verify = (value: string) => other.verifyCallback({ 'x-sig': value }, raw, ['s'], NOW_MS);
    expect(await verify(signature)).toMatchObject({ ok: true, jobId: TASK });
    expect(await verify(signature.replace('=', ''))).toMatchObject({ ok: false });
    expect(await verify(digest(raw, 's'))).toMatchObject({ ok: false });
  });

  test('an end that is none: a webhook of an unknown status', async () => {
    const raw = Buffer.from(body(TASK).replace('succeeded', 'paused'));
    expect(await provider.verifyCallback(sign(raw, ['s']), raw, ['s'], NOW_MS)).toMatchObject({
      ok: true,
      type: 'generation.paused',
      terminal: false,
    });
  });

  test.each(['', 'a b', 'a.b', 'ключ', 'k'.repeat(256)])('idempotency key %j is a defect', async (key) => {
    const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
    await expect(provider.submit(build(), key, options)).rejects.toThrow(/idempotency key/);
  });
});
