import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { startSimulator } from '../../src/simulators/core.ts';
import { openaivideosSimulator, videosSimulator } from '../../src/simulators/openaivideos.ts';
import { Control, eventually } from '../simulators/control.ts';
import { SIMULATOR_SECRET } from './bench.ts';
import { providerContract } from './contract.testsuite.ts';
import type { ProviderFixture } from './fixture.ts';
import { AGGREGATOR, DIRECT, made, type Settings } from './openaivideos-fixture.ts';
import { observeRows } from './openaivideos-observe-rows.ts';
import { httpTo } from './scripted-server.ts';
import { cancelRows, CONTENT, FILE_URL, NOW_MS, submitRows, VIDEO } from './openaivideos-rows.ts';

const base: Omit<ProviderFixture, 'name' | 'create' | 'simulator' | 'callbacks' | 'observeRows'> = {
  nowMs: NOW_MS,
  job: { method: 'text-to-video', providerModel: 'sora-2', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 4, resolution: '1280x720' }),
  apiKey: 'sk-aggregator',
  jobId: VIDEO,
  submitRows,
  cancelRows,
  outputUrls: { own: CONTENT('https://api.aggregator.example'), foreign: FILE_URL },
};

providerContract({
  ...base,
  name: 'openaivideos',
  create: (http, baseUrl, nowMs) => made(http, baseUrl, DIRECT, nowMs),
  simulator: openaivideosSimulator,
  observeRows,
  callbacks: null,
  // Whether there is a file at all, or still, only its download tells.
  life: {
    emptyOutput: { kind: 'succeeded' },
    nullOutput: { kind: 'succeeded' },
    expired: { kind: 'succeeded', outputs: [{ url: expect.stringMatching(/\/content$/) as string }] },
  },
});

const ID = 'wh_68518b2e7c1c8190a7bd5f2a7b1f9a0c';
const key = (secret: string) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
const sign = (raw: Buffer, secrets: readonly string[], t: string | number, id = ID) => ({
  'webhook-id': id,
  'webhook-timestamp': String(t),
  'webhook-signature': secrets
    .map((secret) => createHmac('sha256', key(secret)).update(`${id}.${t}.`).update(raw).digest('base64'))
    .map((digest) => `v1,${digest}`)
    .join(' '),
});
const event = (id: string, type = 'video.completed') =>
  `{"id":"evt_1","object":"event","created_at":1764417600,"type":"${type}","data":{"id":"${id}"}}`;
const verdict = { eventId: ID, type: 'video.completed', terminal: true, progress: null };
const forge = (name: string, change: (signature: string) => string) =>
  [
    name,
    (good: Readonly<Record<string, string>>) => ({
      ...good,
      'webhook-signature': change(good['webhook-signature'] ?? ''),
    }),
  ] as const;

providerContract({
  ...base,
  name: 'openaivideos at an aggregator',
  create: (http, baseUrl, nowMs) => made(http, baseUrl, AGGREGATOR, nowMs),
  simulator: videosSimulator('aggregator'),
  life: { expired: { kind: 'succeeded', outputs: [{ url: expect.stringMatching(/\.mp4$/) as string }] } },
  observeRows: [
    {
      name: 'the URL of the job',
      answer: { status: 200, body: JSON.stringify({ id: VIDEO, status: 'completed', video_url: FILE_URL }) },
      expect: {
        kind: 'succeeded',
        status: 'completed',
        outputs: [{ url: FILE_URL }],
        linkExpiresAt: null,
        cost: null,
      },
    },
    {
      name: 'the URL of a job that our clock calls over: its download decides',
      answer: {
        status: 200,
        body: JSON.stringify({
          id: VIDEO,
          status: 'completed',
          expires_at: NOW_MS / 1_000 - 600,
          video_url: FILE_URL,
        }),
      },
      expect: {
        kind: 'succeeded',
        status: 'completed',
        outputs: [{ url: FILE_URL }],
        linkExpiresAt: null,
        cost: null,
      },
    },
    {
      name: 'no URL any more, since it is over: gone, not missing',
      answer: {
        status: 200,
        body: JSON.stringify({ id: VIDEO, status: 'completed', expires_at: NOW_MS / 1_000, video_url: null }),
      },
      expect: {
        kind: 'succeeded',
        status: 'completed',
        outputs: [],
        linkExpiresAt: new Date(NOW_MS),
        cost: null,
      },
    },
    ...[
      {},
      { video_url: null },
      { video_url: '' },
      { url: FILE_URL },
      { expires_at: 3_600 },
      { video_url: 'data:video/mp4;base64,AAAA' },
    ].map((members) => ({
      name: `no URL in ${JSON.stringify(members)}`,
      answer: { status: 200, body: JSON.stringify({ id: VIDEO, status: 'completed', ...members }) },
      expect: {
        kind: 'failed',
        status: 'completed',
        code: 'no_output',
        reason: 'succeeded_without_output',
        cost: null,
      } as const,
    })),
  ],
  callbacks: {
    kind: 'signed',
    timestamped: true,
    manySignatures: true,
    secret: SIMULATOR_SECRET,
    wrongKeyForms: [`whsec_${Buffer.from(SIMULATOR_SECRET).toString('base64')}`],
    sign,
    body: event,
    verdict,
    forgeries: [
      forge('only v2', (good) => good.replace('v1,', 'v2,')),
      forge('no version', (good) => good.replace('v1,', '')),
      forge('a digit short', (good) => good.slice(0, -2)),
      ['another id', (good) => ({ ...good, 'webhook-id': 'wh_other' })],
      ['an empty id', (good) => ({ ...good, 'webhook-id': '' })],
    ],
  },
});

describe('openaivideos: an image inline in a form', () => {
  test('the largest that is offered is taken, one above a text field’s limit is refused', async () => {
    const simulator = await startSimulator(openaivideosSimulator, { apiKeys: ['k'], renderMs: 20 });
    const http = httpTo(simulator.url);
    const control = new Control(simulator.url);
    try {
      const provider = made(http, simulator.url, DIRECT);
      const { inlineInputBytes: most } = provider.capabilities;
      const submit = (prompt: string, bytes: number) => {
        const image_url = `data:image/jpeg;base64,${Buffer.alloc(bytes, 7).toString('base64')}`;
        const job = { ...base.job, method: 'image-to-video' as const, input: { prompt, image_url } };
        const request = provider.buildSubmit({ ...job, callbackUrl: null, idempotencyKey: 'k' });
        const credential = { name: 'default', apiKey: 'k' };
        return provider.submit(request, 'k', { credential, timeoutMs: 60_000 });
      };
      expect(most).toBe(700_000);
      expect(await submit('most', most)).toMatchObject({ kind: 'accepted' });
      const input = await eventually(async () => (await control.journal('most')).jobs[0]?.input ?? undefined);
      expect(input).toMatchObject({ source: 'inline', media_type: 'image/jpeg', bytes: most });
      expect(await submit('above', 800_000)).toMatchObject({ kind: 'refused', code: 'invalid_input' });
      expect((await control.journal('above')).jobs).toEqual([]);
    } finally {
      await http.close();
      await simulator.close();
    }
  });
});

describe('openaivideos: callbacks', () => {
  const http = createOutboundHttp({ allow: [] });
  const NOW = NOW_MS / 1_000;
  const verify = (settings: Settings, body: string, headers: Readonly<Record<string, string>> = {}) =>
    made(http, 'https://api.aggregator.example', settings).verifyCallback(
      headers,
      Buffer.from(body),
      [SIMULATOR_SECRET],
      NOW_MS,
    );
  const signed = (settings: Settings, body: string) =>
    verify({ WEBHOOKS: 'standard', ...settings }, body, sign(Buffer.from(body), [SIMULATOR_SECRET], NOW));

  test('an endpoint of the account: signed, and nothing of it is in a submit', async () => {
    const provider = made(http, 'https://api.aggregator.example', { WEBHOOKS: 'standard' });
    expect(provider.capabilities.callbacks).toBe('signed');
    const { body } = provider.buildSubmit({
      ...base.job,
      input: { prompt: 'x' },
      callbackUrl: 'https://h.example/x',
      idempotencyKey: 'k',
    });
    expect(body).not.toContain('h.example');
    expect(await signed({}, event(VIDEO, 'video.failed'))).toEqual({
      ok: true,
      jobId: VIDEO,
      ...verdict,
      type: 'video.failed',
    });
    expect(await verify({ WEBHOOKS: 'standard' }, event(VIDEO))).toEqual({ ok: false, reason: 'unverified' });
  });

  test.each([
    ['video.in_progress', false],
    ['video.cancelled', false],
    ['video.completed', true],
    ['response.completed', false],
  ])('%s: terminal %s', async (type, terminal) => {
    expect(await signed({}, event(VIDEO, type))).toMatchObject({ ok: true, jobId: VIDEO, terminal });
  });

  test('states are the configured ones', async () => {
    expect(await signed({ STATUS_CANCELLED: 'cancelled' }, event(VIDEO, 'video.cancelled'))).toMatchObject({
      type: 'video.cancelled',
      terminal: true,
    });
  });

  test('unsigned, with our URL in the submit: a hint, whose body may be the job itself', async () => {
    const settings = { CALLBACK_MEMBER: 'notify_hook' };
    const told = { ok: true, jobId: VIDEO, eventId: null, progress: null };
    expect(await verify(settings, JSON.stringify({ id: VIDEO, status: 'completed' }))).toEqual({
      ...told,
      type: 'video.completed',
      terminal: true,
    });
    expect(await verify(settings, JSON.stringify({ id: VIDEO, status: 'in_progress' }))).toMatchObject({
      terminal: false,
    });
    expect(await verify(settings, '{"status":"completed"}')).toEqual({ ok: false, reason: 'malformed' });
    expect(await verify({}, event(VIDEO))).toEqual({ ok: false, reason: 'unverified' });
  });
});
