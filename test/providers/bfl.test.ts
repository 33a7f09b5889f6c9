import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createBflProvider } from '../../src/providers/bfl.ts';
import { inlineMark } from '../../src/providers/frozen-submit.ts';
import { createProviders } from '../../src/providers/index.ts';
import { bflSimulator } from '../../src/simulators/bfl.ts';
import { NOW_MS, observeRows, SAMPLE } from './bfl-observe-rows.ts';
import { accepted, simulatorBench } from './bench.ts';
import { cancelRows, credits, submitRows, TASK } from './bfl-rows.ts';
import { providerContract } from './contract.testsuite.ts';
import type { ProviderFixture } from './fixture.ts';

const HEADER = 'x-bfl-signature';
const digest = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex');
const sign = (body: Buffer, [secret = '']: readonly string[]) => ({
  [HEADER]: `sha256=${digest(body, secret)}`,
});
const forge = (name: string, change: (good: string) => string) =>
  [name, (good: Readonly<Record<string, string>>) => ({ [HEADER]: change(good[HEADER] ?? '') })] as const;
const body = (id: string) =>
  `{"id":"${id}","status":"Ready","result":{"sample":"${SAMPLE}","seed":7},"timestamp":"2026-11-29T12:00:00Z"}`;

const fixture: ProviderFixture = {
  name: 'bfl',
  // `localhost` is another host than 127.0.0.1, and the same server.
  create: (http, baseUrl, nowMs) =>
    createBflProvider({ http, baseUrl, nowMs, pollingHosts: ['localhost', '*.clusters.example'] }),
  nowMs: NOW_MS,
  simulator: bflSimulator,
  job: { method: 'text-to-image', providerModel: 'flux-2-pro', params: { output_format: 'png' } },
  input: (prompt) => ({ prompt, aspect_ratio: '16:9', seed: 7 }),
  media: 'image',
  apiKey: 'bfl-key',
  jobId: TASK,
  handle: (baseUrl) => ({ jobId: TASK, pollingUrl: `${baseUrl}/v1/get_result?id=${TASK}` }),
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'signed',
    timestamped: false,
    manySignatures: false,
    secret: 'whsec_c2VjcmV0',
    wrongKeyForms: ['c2VjcmV0', 'secret'],
    sign,
    body,
    verdict: { eventId: null, type: 'Ready', terminal: true, progress: null },
    forgeries: [
      forge('another scheme', (good) => good.replace('sha256=', 'sha512=')),
      forge('bare hex', (good) => good.slice(7)),
      forge('upper-case hex', (good) => `sha256=${good.slice(7).toUpperCase()}`),
      forge('one digit short', (good) => good.slice(0, -1)),
      forge('one digit more', (good) => `${good}0`),
      forge('WHI-6 header twice', (good) => `${good}, ${good}`),
      forge('a space', (good) => ` ${good}`),
      forge('prefix twice', (good) => `sha256=${good}`),
      forge('base64', (good) => `sha256=${Buffer.from(good.slice(7), 'hex').toString('base64')}`),
    ],
  },
  outputUrls: { own: SAMPLE, foreign: 'https://evil.example/a.png' },
  // "The specified task ID does not exist or has expired."
  life: { expired: { kind: 'not_found' } },
};
providerContract(fixture);

const VIDEO = { method: 'text-to-video', providerModel: 'flux-3-video', params: {} } as const;
const NOT_FOUND_HERE = { kind: 'unavailable', reason: 'task_not_found', denied: false, retryAfterMs: null };
const http = createOutboundHttp({ allow: [] });
afterAll(() => http.close());
const real = createBflProvider({ http, baseUrl: 'https://api.bfl.ai/v1/', nowMs: () => NOW_MS });
const job = (over: Partial<SubmitJob>): SubmitJob => ({
  method: 'text-to-image',
  providerModel: 'flux-2-pro',
  input: { prompt: 'fog' },
  params: {},
  callbackUrl: null,
  idempotencyKey: 'k',
  ...over,
});
const sent = (over: Partial<SubmitJob>): unknown => JSON.parse(real.buildSubmit(job(over)).body);
const bflWith = (settings: Record<string, string>) =>
  createProviders({ http, providers: new Map([['bfl', { settings }]]) }).get('bfl')!;

describe('bfl: what it is asked with', () => {
  test('an image by FLUX.2, with a size for its shape, and where to call back', () => {
    const params = { output_format: 'png', safety_tolerance: 2 };
    const callback = { callbackUrl: 'https://h.example/bfl', callbackSecret: 'own' };
    const built = real.buildSubmit(
      job({ input: { prompt: 'fog', aspect_ratio: '9:16', seed: 7 }, params, ...callback }),
    );
    expect(built).toMatchObject({
      method: 'POST',
      path: '/v1/flux-2-pro',
      contentType: 'application/json',
    });
    expect(JSON.parse(built.body)).toEqual({
      prompt: 'fog',
      width: 768,
      height: 1344,
      seed: 7,
      output_format: 'png',
      safety_tolerance: 2,
      webhook_url: 'https://h.example/bfl',
      webhook_secret: 'own',
    });
  });

  test('no secret without a URL to call back', () => {
    expect(sent({ callbackSecret: 'own' })).toEqual({ prompt: 'fog' });
  });

  test.each(['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '21:9'])(
    'the size for %s has its shape, about a megapixel, and sides of 16 pixels',
    (shape) => {
      const { width, height } = sent({ input: { prompt: 'x', aspect_ratio: shape } }) as {
        width: number;
        height: number;
      };
      const [across = 0, down = 1] = shape.split(':').map(Number);
      expect(Math.abs(width / height / (across / down) - 1)).toBeLessThan(0.02);
      expect([width % 16, height % 16]).toEqual([0, 0]);
      expect(width * height).toBeLessThanOrEqual(1_048_576);
      expect(width * height).toBeGreaterThan(980_000);
    },
  );

  test('an edit of an image, by a model that takes shapes', () => {
    const input = { prompt: 'red door', image_url: 'https://i.example/p.png', aspect_ratio: '4:3' };
    expect(sent({ providerModel: 'flux-kontext-pro', input })).toEqual({
      prompt: 'red door',
      input_image: 'https://i.example/p.png',
      aspect_ratio: '4:3',
    });
  });

  test('an image that goes inline stands as bare base64, in whatever member', () => {
    const mark = inlineMark('sub_0_1', 'image_url');
    expect(sent({ input: { prompt: 'x', image_url: mark } })).toEqual({
      prompt: 'x',
      input_image: `${mark}#base64`,
    });
    const input = { prompt: 'x', image_url: mark };
    expect(sent({ method: 'image-to-video', providerModel: 'flux-3-video', input })).toMatchObject({
      keyframes: `${mark}#base64`,
    });
  });

  test('another model’s own names, by its route', () => {
    const params = { $fields: { image_url: { name: 'images', values: { 'https://i.example/p': ['p'] } } } };
    const input = { prompt: 'x', image_url: 'https://i.example/p', resolution: '2k' };
    expect(sent({ providerModel: 'flux-3-image', input, params })).toEqual({
      prompt: 'x',
      images: ['p'],
      resolution: '2k',
    });
  });

  test('videos by FLUX 3: from text, and from an image', () => {
    const input = {
      prompt: 'fog',
      duration_seconds: 5,
      resolution: 'hd',
      aspect_ratio: '16:9',
      audio: false,
    };
    const video = {
      prompt: 'fog',
      duration: 5,
      resolution: 'hd',
      aspect_ratio: '16:9',
      generate_audio: false,
    };
    expect(sent({ method: 'text-to-video', providerModel: 'flux-3-video', input })).toEqual({
      mode: 't2v',
      ...video,
    });
    const withImage = { ...input, image_url: 'https://i.example/p.png' };
    expect(sent({ method: 'image-to-video', providerModel: 'flux-3-video', input: withImage })).toEqual({
      mode: 'i2v',
      keyframes: 'https://i.example/p.png',
      ...video,
    });
  });

  test.each<[Partial<SubmitJob>, RegExp]>([
    [{ providerModel: 'flux-2-pro?x' }, /providerModel/],
    [{ providerModel: '../v1/flux' }, /providerModel/],
    [{ providerModel: 'https://evil.example' }, /providerModel/],
    [{ input: { prompt: 'x', aspect_ratio: '5:1' } }, /no aspect_ratio of "5:1"/],
    [{ input: { prompt: 'x', audio: true } }, /takes no audio/],
    [{ params: { prompt: 'mine' } }, /"prompt"/],
    [{ input: { prompt: 'x', aspect_ratio: '1:1' }, params: { width: 64 } }, /"width"/],
    [{ callbackUrl: 'https://h.example', params: { webhook_url: 'https://mine' } }, /"webhook_url"/],
    [{ method: 'text-to-video', providerModel: 'flux-3-video', params: { mode: 'v2v' } }, /"mode"/],
    [{ method: 'text-to-speech' }, /text-to-speech/],
  ])('%o is a defect of the catalogue', (over, expected) => {
    expect(() => sent(over)).toThrow(expected);
  });
});

describe('bfl: callbacks and settings', () => {
  const verdict = async (over: object, provider = real, header = HEADER) => {
    const raw = Buffer.from(JSON.stringify({ id: TASK, ...over }));
    return provider.verifyCallback({ [header]: `sha256=${digest(raw, 's')}` }, raw, ['s'], NOW_MS);
  };

  test.each([
    ['Pending', 'Pending', false],
    ['Reasoning', 'Reasoning', false],
    ['Ready', 'Ready', true],
    ['Error', 'Error', true],
    ['Failed', 'Failed', true],
    ['Request Moderated', 'Request Moderated', true],
    ['Content Moderated', 'Content Moderated', true],
    // A hint that there is no job is no end of one.
    ['Task not found', 'Task not found', false],
    ['Paused', 'Paused', false],
    ['no word', 'unspecified', false],
  ])('%s', async (status, type, terminal) => {
    const expected = { ok: true, jobId: TASK, eventId: null, type, terminal, progress: null };
    expect(await verdict({ status })).toEqual(expected);
    expect(await verdict({ state: status, progress: 0.5 })).toEqual({ ...expected, progress: 0.5 });
  });

  test('capabilities, hosts, settings', async () => {
    expect(real.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'signed',
      cancel: 'unsupported',
      list: false,
      cost: 'final',
      inlineInputBytes: 15_000_000,
    });
    expect(real.outputHosts).toEqual(['*.bfl.ai', 'bfldeliveryprod.blob.core.windows.net']);
    expect(bflWith({ OUTPUT_HOSTS: 'cdn.example' }).outputHosts).toEqual(['cdn.example']);
    expect(await verdict({ status: 'Ready' }, bflWith({ SIGNATURE_HEADER: 'X-Sig' }), 'x-sig')).toMatchObject(
      {
        ok: true,
      },
    );
    expect(await verdict({ status: 'Ready' }, bflWith({ SIGNATURE_HEADER: 'X-Sig' }))).toMatchObject({
      ok: false,
    });
    expect(() => bflWith({ LINK_TTL_MS: '0' })).toThrow(/LINK_TTL_MS must be milliseconds/);
    expect(() => bflWith({ POLLING_HOSTS: 'https://x' })).toThrow(/POLLING_HOSTS must be host names/);
    expect(() => createBflProvider({ http, baseUrl: 'api.bfl.ai' })).toThrow(/PROVIDER_BFL_BASE_URL/);
  });
});

describe('bfl: a task of a cluster', () => {
  const bench = simulatorBench({
    ...fixture,
    job: VIDEO,
    input: (prompt) => ({ prompt, duration_seconds: 5 }),
  });

  test('is known where its polling URL points; elsewhere nothing is said about it', async () => {
    const handle = accepted(await bench.submit('a video of a cluster.'));
    expect(handle).toMatchObject({ pollingUrl: expect.stringContaining('/us1/v1/get_result?id=') as string });
    const byId = bench.provider.handleFromJobId(handle.jobId, { path: '/v1/flux-3-video', body: '{}' });
    expect(await bench.provider.observe(byId, bench.options)).toEqual(NOT_FOUND_HERE);
    expect(await bench.ended(handle)).toMatchObject({ kind: 'succeeded', cost: credits('85', true) });
    expect(await bench.provider.observe(byId, bench.options)).toEqual(NOT_FOUND_HERE);
  });
});
