import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { providerContract } from './contract.testsuite.ts';
import { cancelRows, JOB, NOW_MS, observeRows, submitRows, URL_1 } from './infro-rows.ts';

const sign = (body: Buffer, secrets: readonly string[], t: string | number) => ({
  'infro-signature': [
    `t=${t}`,
    ...secrets.map(
      (secret) => `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`,
    ),
  ].join(','),
});
const forge = (name: string, change: (good: string) => string) =>
  [
    name,
    (good: Readonly<Record<string, string>>) => ({
      'infro-signature': change(good['infro-signature'] ?? ''),
    }),
  ] as const;

providerContract({
  name: 'infro',
  create: (http, baseUrl, nowMs) => createInfroProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: infroSimulator,
  job: { method: 'text-to-video', providerModel: 'm-video', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'key-of-infro',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'signed',
    timestamped: true,
    manySignatures: true,
    secret: 'whsec_c2VjcmV0IG9mIGluZnJv',
    wrongKeyForms: ['c2VjcmV0IG9mIGluZnJv', 'secret of infro'],
    sign,
    body: (id) =>
      `{"id":"evt_1","type":"job.succeeded","created_at":1764000000,"data":{"id":"${id}","status":"succeeded"}}`,
    verdict: { eventId: 'evt_1', type: 'job.succeeded', terminal: true, progress: null },
    forgeries: [
      forge('WHI-4 only v0', (good) => good.replace('v1=', 'v0=')),
      forge('WHI-4 only v2', (good) => good.replace('v1=', 'v2=')),
      forge('upper-case name', (good) => good.replace('v1=', 'V1=')),
      forge('upper-case hex', (good) => good.replace(/v1=.*/, (text) => `v1=${text.slice(3).toUpperCase()}`)),
      forge('one digit short', (good) => good.slice(0, -1)),
      forge('one digit more', (good) => `${good}0`),
      forge('WHI-6 header twice', (good) => `${good}, ${good}`),
      forge('WHI-6 two timestamps', (good) => `t=1,${good}`),
      forge('WHI-6 a second timestamp after', (good) => `${good},t=1`),
      forge('a space', (good) => good.replace(',', ', ')),
      forge('no timestamp', (good) => good.replace(/^t=\d+,/, '')),
      forge('no signature', (good) => good.replace(/,v1=.*/, '')),
      forge('empty signature', (good) => good.replace(/v1=.*/, 'v1=')),
      forge('more than sixteen', (good) => `${good}${`,v1=${'0'.repeat(64)}`.repeat(16)}`),
      forge('more than 4 kB', (good) => `${good},x=${'0'.repeat(4_096)}`),
    ],
  },
  outputUrls: { own: 'https://api.infro.io/files/a.mp4', foreign: 'https://evil.example/a.mp4' },
});

describe('infro: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createInfroProvider({ http, baseUrl: 'https://api.infro.io/v1/' });

  const JOB_DEFAULTS = {
    method: 'text-to-video',
    providerModel: 'm-video',
    params: {},
    callbackUrl: null,
    idempotencyKey: 'k',
  } as const;
  const build = (callbackUrl: string | null) =>
    provider.buildSubmit({
      ...JOB_DEFAULTS,
      input: { prompt: 'rain on tin', duration_seconds: 5 },
      callbackUrl,
    });

  test('the submit that its documentation shows', () => {
    expect(build(null)).toEqual({
      method: 'POST',
      path: '/v1/videos',
      contentType: 'application/json',
      body: '{"duration_seconds":5,"model":"m-video","prompt":"rain on tin"}',
    });
    expect(JSON.parse(build('https://h.example/infro').body)).toMatchObject({
      webhook: { url: 'https://h.example/infro' },
    });
    const submit = (over: object) =>
      provider.buildSubmit({ ...JOB_DEFAULTS, input: { prompt: 'x' }, ...over });
    expect(() => submit({ input: { prompt: 'x', seed: 1 } })).toThrow(/seed/);
    expect(() => submit({ method: 'text-to-image' })).toThrow(/text-to-image/);
    expect(JSON.parse(submit({ params: { style: 'noir' } }).body)).toMatchObject({ style: 'noir' });
    expect(() => submit({ params: { prompt: 'mine' } })).toThrow(/"prompt"/);
  });

  test('capabilities, hosts, settings', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: 'may_bill',
      list: false,
      cost: 'estimate',
      inlineInputBytes: 0,
    });
    expect(provider.methods).toEqual({ 'text-to-video': ['prompt', 'duration_seconds'] });
    expect(provider.outputHosts).toEqual(['api.infro.io', '*.infro.io']);
    expect(provider.downloadAuth(new URL(URL_1), { name: 'default', apiKey: 'k' })).toEqual({});
    const without = createInfroProvider({
      http,
      baseUrl: 'https://x.example',
      cancelPath: null,
      outputHosts: ['o'],
    });
    expect(without.capabilities.cancel).toBe('unsupported');
    expect(without.outputHosts).toEqual(['o']);
    expect(() => createInfroProvider({ http, baseUrl: 'infro' })).toThrow(/PROVIDER_INFRO_BASE_URL/);
    const infro = { settings: { CANCEL_PATH: 'none', OUTPUT_HOSTS: 'a.example, *.B.example' } };
    const made = createProviders({ http, providers: new Map([['infro', infro]]) }).get('infro');
    expect(made?.capabilities.cancel).toBe('unsupported');
    expect(made?.outputHosts).toEqual(['a.example', '*.b.example']);
    const wrong = (settings: Record<string, string>) => () =>
      createProviders({ http, providers: new Map([['infro', { settings }]]) });
    expect(wrong({ CANCEL_PATH: '/v1/cancel' })).toThrow(/CANCEL_PATH .*\{id\}/);
    expect(wrong({ OUTPUT_KEYS: 'a b' })).toThrow(/OUTPUT_KEYS must be member names/);
    expect(() => createProviders({ http, providers: new Map([['nobody', {}]]) })).toThrow(
      /"nobody": infro, /,
    );
  });

  test.each(['', 'a b', 'ключ', 'k'.repeat(256)])('idempotency key %j is a defect', async (key) => {
    const request = provider.buildSubmit({ ...JOB_DEFAULTS, input: { prompt: 'x' } });
    const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
    await expect(provider.submit(request, key, options)).rejects.toThrow(/idempotency key/);
  });

  const verify = (text: string) => {
    const body = Buffer.from(text);
    return provider.verifyCallback(sign(body, ['whsec_x'], 1_000), body, ['whsec_x'], 1e6);
  };

  test('an event of an unknown type is no end, and one without job or id is still verified', () => {
    expect(verify('{"type":"job.progress","data":{"id":"job_1"}}')).toEqual({
      ok: true,
      jobId: 'job_1',
      eventId: null,
      type: 'job.progress',
      terminal: false,
      progress: null,
    });
    expect(verify('{"id":"e","type":"org.updated","data":{}}')).toMatchObject({ ok: true, jobId: null });
  });
});
