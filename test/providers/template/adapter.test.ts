import { createHmac } from 'node:crypto'; // [signed]
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../../src/net/index.ts';
import { providerContract } from '../contract.testsuite.ts';
import { createTidewaterProvider, tidewater as tidewaterDefinition } from './adapter.ts';
import { JOB, NOW_MS, observeRows, submitRows } from './rows.ts';
import { tidewaterSimulator } from './simulator.ts';

// <signed>
const sign = (body: Buffer, secrets: readonly string[], t: string | number) => ({
  'tidewater-signature': [
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
      'tidewater-signature': change(good['tidewater-signature'] ?? ''),
    }),
  ] as const;
// </signed>

providerContract({
  name: 'tidewater',
  create: (http, baseUrl, nowMs) => createTidewaterProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: tidewaterSimulator,
  // [change] a submit that its simulator takes
  job: { method: 'text-to-video', providerModel: 'tide-1', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'key-of-tidewater',
  jobId: JOB,
  submitRows,
  observeRows,
  // [change] what each answer to a cancel says, once there is one
  cancelRows: [],
  // <signed>
  // [change] how its callbacks are signed, and forged
  callbacks: {
    kind: 'signed',
    timestamped: true,
    manySignatures: true,
    secret: 'whsec_c2VjcmV0',
    wrongKeyForms: ['c2VjcmV0', 'secret'],
    sign,
    body: (id) => `{"id":"${id}","status":"succeeded"}`,
    verdict: { eventId: null, type: 'job.succeeded', terminal: true, progress: null },
    forgeries: [
      forge('only v0', (good) => good.replace('v1=', 'v0=')),
      forge('upper-case hex', (good) => good.replace(/v1=.*/, (text) => `v1=${text.slice(3).toUpperCase()}`)),
      forge('one digit short', (good) => good.slice(0, -1)),
      forge('one digit more', (good) => `${good}0`),
      forge('header twice', (good) => `${good}, ${good}`),
      forge('two timestamps', (good) => `t=1,${good}`),
      forge('no timestamp', (good) => good.replace(/^t=\d+,/, '')),
      forge('no signature', (good) => good.replace(/,v1=.*/, '')),
      forge('more than sixteen', (good) => `${good}${`,v1=${'0'.repeat(64)}`.repeat(16)}`),
    ],
  },
  // </signed>
  // [unsigned] // [change] what its callbacks say
  // [unsigned] callbacks: {
  // [unsigned]   kind: 'unsigned',
  // [unsigned]   body: (id) => `{"id":"${id}","status":"succeeded"}`,
  // [unsigned]   verdict: { eventId: null, type: 'job.succeeded', terminal: true, progress: null },
  // [unsigned] },
  // [none] callbacks: null,
  outputUrls: {
    own: 'https://api.tidewater.example/files/a.mp4',
    foreign: 'https://evil.example/a.mp4',
  },
});

describe('tidewater: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const provider = createTidewaterProvider({ http, baseUrl: 'https://api.tidewater.example/v1/' });

  // [change] the submit that its documentation shows
  test('the submit that its documentation shows', () => {
    const job = {
      method: 'text-to-video',
      providerModel: 'tide-1',
      input: { prompt: 'rain on tin', duration_seconds: 5 },
      params: { style: 'noir' },
      idempotencyKey: 'k',
    } as const;
    const { body, ...request } = provider.buildSubmit({ ...job, callbackUrl: 'https://h.example/1' });
    expect(request).toEqual({ method: 'POST', path: '/v1/jobs', contentType: 'application/json' });
    expect(JSON.parse(body)).toEqual({
      model: 'tide-1',
      prompt: 'rain on tin',
      duration: 5,
      style: 'noir',
      webhook_url: 'https://h.example/1', // [signed, unsigned]
    });
    expect(() => provider.buildSubmit({ ...job, params: { model: 'x' }, callbackUrl: null })).toThrow(
      /"model"/,
    );
  });

  test('a model that writes a field in another way, by its route', () => {
    const job = {
      method: 'text-to-video',
      providerModel: 'tide-2',
      input: { prompt: 'rain on tin', duration_seconds: 5 },
      params: { $fields: { duration_seconds: { name: 'length', text: '{}s' } } },
      callbackUrl: null,
      idempotencyKey: 'k',
    } as const;
    expect(JSON.parse(provider.buildSubmit(job).body)).toEqual({
      model: 'tide-2',
      prompt: 'rain on tin',
      length: '5s',
    });
  });

  test('hosts and settings', () => {
    expect(provider.outputHosts).toEqual(['api.tidewater.example']);
    expect(() => createTidewaterProvider({ http, baseUrl: 'tidewater' })).toThrow(
      /PROVIDER_TIDEWATER_BASE_URL/,
    );
    const set = tidewaterDefinition.configure({ OUTPUT_HOSTS: 'a.example, *.B.example' });
    if ('problems' in set) throw new Error(set.problems[0]?.problem);
    expect(set.configured.webhookSecret).toBe('required'); // [signed]
    // [unsigned, none] expect(set.configured.webhookSecret).toBe('none');
    const made = set.configured.create({ http, baseUrl: 'https://x.example' });
    expect(made).toMatchObject({ name: 'tidewater', outputHosts: ['a.example', '*.b.example'] });
    expect(tidewaterDefinition.configure({ OUTPUT_HOSTS: '*' })).toMatchObject({
      problems: [{ setting: 'OUTPUT_HOSTS' }],
    });
  });
});
