import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { callbackBody, klingFixture } from './kling-fixture.ts';
import { signedContract } from './signed.testsuite.ts';

const SECRET = 'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0c2VjcmV0MTI=';
const HEADER = 'webhook-signature';
const signature = (id: string, raw: Buffer, secret: string, t: string | number) =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(`${id}.${t}.`)
    .update(raw)
    .digest('base64')}`;
const sign = (raw: Buffer, secrets: readonly string[], t: string | number) => ({
  'webhook-id': '8674665223082153551',
  'webhook-timestamp': String(t),
  [HEADER]: secrets.map((secret) => signature('8674665223082153551', raw, secret, t)).join(' '),
});
type Headers = Readonly<Record<string, string>>;
const changed = (change: (value: string) => string) => (good: Headers) => ({
  ...good,
  [HEADER]: change(good[HEADER] ?? ''),
});
const without = (name: string) => (good: Headers) =>
  Object.fromEntries(Object.entries(good).filter(([header]) => header !== name));

describe('kling: signed callbacks', () => {
  signedContract(
    {
      ...klingFixture,
      create: (http, baseUrl, nowMs) => createKlingProvider({ http, baseUrl, nowMs, signedCallbacks: true }),
    },
    {
      kind: 'signed',
      body: callbackBody,
      verdict: { eventId: '8674665223082153551', type: 'task.succeeded', terminal: true, progress: null },
      secret: SECRET,
      wrongKeyForms: [
        `whsec_${Buffer.from(SECRET).toString('base64')}`,
        `whsec_${Buffer.from(SECRET.slice(6)).toString('base64')}`,
      ],
      sign,
      timestamped: true,
      manySignatures: true,
      forgeries: [
        ['another id', (good) => ({ ...good, 'webhook-id': '8674665223082153552' })],
        ['no id', without('webhook-id')],
        ['empty id', (good) => ({ ...good, 'webhook-id': '' })],
        ['endless id', (good) => ({ ...good, 'webhook-id': '8'.repeat(201) })],
        ['no timestamp', without('webhook-timestamp')],
        ['no signature', without(HEADER)],
        ['WHI-4 only v1a', changed((value) => value.replace('v1,', 'v1a,'))],
        ['upper-case version', changed((value) => value.replace('v1,', 'V1,'))],
        ['without version', changed((value) => value.slice(3))],
        ['as hex', changed((value) => `v1,${Buffer.from(value.slice(3), 'base64').toString('hex')}`)],
        ['unpadded', changed((value) => value.slice(0, -1))],
        ['split by commas', changed((value) => `v1,x,${value}`)],
        ['more than sixteen', changed((value) => `${value}${` v1,${'A'.repeat(43)}=`.repeat(16)}`)],
        ['more than 4 kB', changed((value) => `${value} ${'x'.repeat(4_096)}`)],
      ],
    },
  );

  test('a secret that we are given is never ignored, also where callbacks may be unsigned', async () => {
    const http = createOutboundHttp({ allow: [] });
    const unsigned = createKlingProvider({ http, baseUrl: 'https://api-singapore.klingai.com' });
    const raw = Buffer.from(callbackBody('1'));
    const verify = (headers: Headers) => unsigned.verifyCallback(headers, raw, [SECRET], 1_000_000);
    expect(await verify({})).toEqual({ ok: false, reason: 'unverified' });
    expect(await verify(sign(raw, [SECRET], 1_000))).toMatchObject({ ok: true, jobId: '1' });
    await http.close();
  });

  test("the example of Kling's own page", async () => {
    const http = createOutboundHttp({ allow: [] });
    const kling = createKlingProvider({
      http,
      baseUrl: 'https://api-singapore.klingai.com',
      signedCallbacks: true,
    });
    const raw = Buffer.from(callbackBody('1234567890'));
    const headers = {
      'webhook-id': '9876543210',
      'webhook-timestamp': '1781080794',
      [HEADER]: 'v1,UsKlJP00XoQyOn410NM9xv34sP+Gl0jnOO9Lcpr7NJ4=',
    };
    expect(await kling.verifyCallback(headers, raw, [SECRET], 1_781_080_794_000)).toMatchObject({
      ok: true,
      jobId: '1234567890',
      eventId: '9876543210',
    });
    await http.close();
  });
});
