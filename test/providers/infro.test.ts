import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { createInfroProvider } from '../../src/providers/infro.ts';
import { startInfroSimulator } from '../../src/simulators/infro.ts';
import { providerContract } from './contract.testsuite.ts';
import { cancelRows, JOB, NOW_MS, observeRows, submitRows, URL_1 } from './infro-rows.ts';

const sign = (body: Buffer, secrets: readonly string[], t: string | number) =>
  [
    `t=${t}`,
    ...secrets.map(
      (secret) => `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`,
    ),
  ].join(',');

providerContract({
  name: 'infro',
  create: (http, baseUrl, nowMs) => createInfroProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  startSimulator: startInfroSimulator,
  providerModel: 'm-video',
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'key-of-infro',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    header: 'infro-signature',
    secret: 'whsec_c2VjcmV0IG9mIGluZnJv',
    wrongKeyForms: ['c2VjcmV0IG9mIGluZnJv', 'secret of infro'],
    sign,
    body: (id) =>
      `{"id":"evt_1","type":"job.succeeded","created_at":1764000000,"data":{"id":"${id}","status":"succeeded"}}`,
    type: 'job.succeeded',
    forgeries: [
      ['WHI-4 only v0', (good) => good.replace('v1=', 'v0=')],
      ['WHI-4 only v2', (good) => good.replace('v1=', 'v2=')],
      ['upper-case name', (good) => good.replace('v1=', 'V1=')],
      ['upper-case hex', (good) => good.replace(/v1=.*/, (text) => `v1=${text.slice(3).toUpperCase()}`)],
      ['one digit short', (good) => good.slice(0, -1)],
      ['one digit more', (good) => `${good}0`],
      ['WHI-6 header twice', (good) => `${good}, ${good}`],
      ['WHI-6 two timestamps', (good) => `t=1,${good}`],
      ['WHI-6 a second timestamp after', (good) => `${good},t=1`],
      ['a space', (good) => good.replace(',', ', ')],
      ['no timestamp', (good) => good.replace(/^t=\d+,/, '')],
      ['no signature', (good) => good.replace(/,v1=.*/, '')],
      ['empty signature', (good) => good.replace(/v1=.*/, 'v1=')],
      ['more than sixteen', (good) => `${good}${`,v1=${'0'.repeat(64)}`.repeat(16)}`],
      ['more than 4 kB', (good) => `${good},x=${'0'.repeat(4_096)}`],
    ],
  },
  outputUrls: { own: 'https://api.infro.io/files/a.mp4', foreign: 'https://evil.example/a.mp4' },
});

describe('infro: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createInfroProvider({ http, baseUrl: 'https://api.infro.io/v1/' });

  const build = (callbackUrl: string | null) =>
    provider.buildSubmit({
      providerModel: 'm-video',
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
    expect(() =>
      provider.buildSubmit({ providerModel: 'm', input: { prompt: 'x', seed: 1 }, callbackUrl: null }),
    ).toThrow(/seed/);
  });

  test('capabilities, hosts, settings', () => {
    expect(provider.capabilities).toEqual({
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: 'stops_tracking',
      list: true,
    });
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
    expect([...createProviders({ http, infro: { baseUrl: 'https://x.example' } }).keys()]).toEqual(['infro']);
    expect(createProviders({ http }).size).toBe(0);
  });

  test.each(['', 'a b', 'ключ', 'k'.repeat(256)])('idempotency key %j is a defect', async (key) => {
    const request = provider.buildSubmit({ providerModel: 'm', input: { prompt: 'x' }, callbackUrl: null });
    const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 1_000 };
    await expect(provider.submit(request, key, options)).rejects.toThrow(/idempotency key/);
  });

  const verify = (text: string) => {
    const body = Buffer.from(text);
    return provider.verifyCallback(
      { 'infro-signature': sign(body, ['whsec_x'], 1_000) },
      body,
      ['whsec_x'],
      1e6,
    );
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
