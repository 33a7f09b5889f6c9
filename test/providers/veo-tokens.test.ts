import { createHmac, createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createVeoProvider } from '../../src/providers/veo.ts';
import { httpTo, ScriptedServer, type ScriptedAnswer } from './scripted-server.ts';
import { EVENT, hmac, NOW, ofTheProject, SECRET, type Headers } from './veo-fixture.ts';
import { AUDIENCE, base64url, jwkOf, privateKey, rsaKeySet, token } from './veo-keys.ts';
import { JOB, NOW_MS } from './veo-rows.ts';

const UNVERIFIED = { ok: false, reason: 'unverified' };
const UNAVAILABLE = { ok: false, reason: 'unavailable' };

describe('veo: the token of a request’s webhook', () => {
  let server: ScriptedServer;
  let http: OutboundHttp;
  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });

  const CLAIMS = { ...EVENT, aud: AUDIENCE, iat: NOW, exp: NOW + 3_600, jti: 'evt_9' };
  const headersOf = (jwt: string, t: string | number = NOW): Headers => ({
    'webhook-id': 'evt_of_nobody',
    'webhook-timestamp': String(t),
    'webhook-signature': jwt,
  });
  interface Given {
    readonly body?: string | Buffer;
    readonly t?: string | number;
    readonly keys?: ScriptedAnswer;
    readonly audiences?: readonly string[];
    readonly atMs?: number;
  }
  /** The verdict of a new adapter, which fetches its keys from here. */
  async function verify(jwt: string, given: Given = {}) {
    const { body = '{"data":{"id":"forged"}}', t = NOW, keys = rsaKeySet(['a']) } = given;
    const { audiences = [AUDIENCE], atMs = NOW_MS } = given;
    server.answer = keys;
    server.seen.length = 0;
    const jwksUrl = `${server.url}/keys`;
    const baseUrl = 'https://generativelanguage.googleapis.com';
    const provider = createVeoProvider({ http, baseUrl, jwksUrl, webhookAudiences: audiences });
    return provider.verifyCallback(headersOf(jwt, t), Buffer.from(body), [], atMs);
  }
  const withClaims = (claims: object) => token({ ...CLAIMS, ...claims }, 'a');
  const GOOD = { ok: true, jobId: JOB, eventId: 'jti:evt_9', type: 'video.generated', terminal: true };

  test('a good one tells job and event by its claims; keys are asked for without our key', async () => {
    expect(await verify(withClaims({}))).toEqual({ ...GOOD, progress: null });
    expect(server.seen).toMatchObject([{ method: 'GET', url: '/keys' }]);
    expect(server.seen[0]?.headers['x-goog-api-key']).toBeUndefined();
  });

  test.each(['', '<html>', '{"type":"batch.failed","data":{"id":"other"}}', Buffer.from([0xff, 0, 1])])(
    'T11 the unsigned body is not read: %s',
    async (body) => {
      expect(await verify(withClaims({}), { body })).toMatchObject(GOOD);
    },
  );

  test.each([
    ['no event at all', { type: undefined, data: undefined }, 'unspecified'],
    ['no id', { data: {} }, 'unspecified'],
    ['an id of another kind', { data: { id: 'k9abc' } }, 'video.generated'],
    ['an id that leads elsewhere', { data: { id: `${JOB}/../../files` } }, 'video.generated'],
    ['dots as id', { data: { id: '..' } }, 'unspecified'],
  ])('claims with %s name no job; the token in our path does', async (_name, claims, type) => {
    expect(await verify(withClaims(claims), { body: JSON.stringify(EVENT) })).toMatchObject({
      ok: true,
      jobId: null,
      type,
      terminal: true,
    });
  });

  test('the event’s id is signed: jti, else the token’s digest; never webhook-id', async () => {
    const bare = withClaims({ jti: undefined });
    const first = await verify(bare);
    expect(first).toMatchObject({ ok: true, eventId: expect.stringMatching(/^jwt:[0-9a-f]{64}$/) as string });
    expect(await verify(bare, { body: 'x' })).toEqual(first);
    expect(await verify(withClaims({ jti: undefined, iat: NOW - 1 }))).not.toEqual(first);
    for (const jti of ['', 'a b', 'x'.repeat(201), 7]) {
      expect(await verify(withClaims({ jti }))).toMatchObject({
        eventId: expect.stringMatching(/^jwt:/) as string,
      });
    }
  });

  test.each([
    ['aud as a list', { aud: ['projects/other', AUDIENCE] }],
    ['exp just over', { exp: NOW - 59 }],
    ['iat a little ahead', { iat: NOW + 59 }],
    ['nbf now', { nbf: NOW }],
    ['an old iat', { iat: NOW - 86_400 }],
  ])('verifies: %s', async (_name, claims) => {
    expect(await verify(withClaims(claims))).toMatchObject(GOOD);
  });

  test.each([
    ['for another project', { aud: 'projects/other' }],
    ['for one whose name begins as ours', { aud: `${AUDIENCE}2` }],
    ['for nobody', { aud: undefined }],
    ['for an empty list', { aud: [] }],
    ['over', { exp: NOW - 61 }],
    ['without an end', { exp: undefined }],
    ['with an end that is text', { exp: String(NOW + 60) }],
    ['from the future', { iat: NOW + 61 }],
    ['without a beginning', { iat: undefined }],
    ['not yet valid', { nbf: NOW + 61 }],
  ])('WHI-1 rightly signed by Google but %s: refused before any key is fetched', async (_name, claims) => {
    expect(await verify(withClaims(claims))).toEqual(UNVERIFIED);
    expect(server.seen).toEqual([]);
  });

  test('an audience by its beginning, as where it is the URL of the callback', async () => {
    const audiences = ['projects/x', 'https://h.example/callbacks/veo/*'];
    const aud = (url: string) => verify(withClaims({ aud: url }), { audiences });
    expect(await aud('https://h.example/callbacks/veo/sub_1.token')).toMatchObject(GOOD);
    expect(await aud('https://h.example.evil/callbacks/veo/sub_1')).toEqual(UNVERIFIED);
  });

  test.each([NOW - 301, NOW + 301, NOW_MS, '', 'abc', `${NOW}.5`, '1e9'])(
    'WHI-3 webhook-timestamp %s is refused',
    async (t) => {
      expect(await verify(withClaims({}), { t })).toEqual(UNVERIFIED);
      expect(await verify(withClaims({}), { t: NOW - 300 })).toMatchObject({ ok: true });
    },
  );

  const [head = '', claims = '', signature = ''] = token(CLAIMS, 'a').split('.');
  const publicPem = createPublicKey(privateKey('a')).export({ type: 'spki', format: 'pem' });
  const hs256 = (header: object, secret: string | Buffer) => {
    const signed = `${base64url(header)}.${claims}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  test.each([
    ['no signature', ''],
    ['alg none', `${base64url({ alg: 'none', kid: 'a' })}.${claims}.`],
    ['alg none with the old signature', `${base64url({ alg: 'none', kid: 'a' })}.${claims}.${signature}`],
    ['HS256 with the public key', hs256({ alg: 'HS256', kid: 'a', typ: 'JWT' }, publicPem)],
    [
      'HS256 with the modulus',
      hs256({ alg: 'HS256', kid: 'a' }, Buffer.from(jwkOf('a').n ?? '', 'base64url')),
    ],
    ['HS256, said to be RS256', hs256({ alg: 'RS256', kid: 'a' }, publicPem)],
    ['RS512 in the header', token(CLAIMS, 'a', { alg: 'RS512' })],
    ['PS256 in the header', token(CLAIMS, 'a', { alg: 'PS256' })],
    ['no kid', token(CLAIMS, 'a', { kid: undefined })],
    ['a kid of no key', token(CLAIMS, 'a', { kid: 'b' })],
    ['a critical extension', token(CLAIMS, 'a', { crit: ['exp'] })],
    ['an unencoded payload', token(CLAIMS, 'a', { b64: false })],
    ['its own key in the header', token(CLAIMS, 'mallory', { kid: 'a', jwk: jwkOf('mallory') })],
    ['another key under a known kid', token(CLAIMS, 'mallory', { kid: 'a' })],
    ['other claims under the signature', `${head}.${base64url({ ...CLAIMS, jti: 'x' })}.${signature}`],
    ['another header over the signature', `${base64url({ alg: 'RS256', kid: 'a' })}.${claims}.${signature}`],
    ['a changed signature', `${head}.${claims}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`],
    ['a signature of zeros', `${head}.${claims}.${'A'.repeat(342)}`],
    ['two parts', `${head}.${claims}`],
    ['four parts', `${head}.${claims}.${signature}.x`],
    ['WHI-6 sent twice', `${head}.${claims}.${signature}, ${head}.${claims}.${signature}`],
    ['padding', `${head}.${claims}.${signature}==`],
    ['claims that are no JSON', token('x', 'a')],
    ['claims that are a list', token([CLAIMS], 'a')],
    ['claims without end', `${head}.${'A'.repeat(8_193)}.${signature}`],
    ['Standard Webhooks, unasked', `v1,${hmac(SECRET, 'evt_of_nobody', NOW, Buffer.from('{}'))}`],
  ])('forged: %s', async (_name, jwt) => {
    expect(await verify(jwt)).toEqual(UNVERIFIED);
  });

  test.each([
    ['a short key', { n: createPublicKey(privateKey('short', 1_024)).export({ format: 'jwk' }).n }],
    ['a key for encryption', { use: 'enc' }],
    ['a key for another algorithm', { alg: 'RS512' }],
    ['a key of another kind', { kty: 'EC' }],
    ['no exponent', { e: undefined }],
  ])('%s in the set is none', async (_name, member) => {
    const set = (jwk: object) => ({ status: 200, body: JSON.stringify({ keys: [jwk] }) });
    expect(await verify(withClaims({}), { keys: set(jwkOf('a', member)) })).toEqual(UNAVAILABLE);
    expect(await verify(withClaims({}), { keys: set(jwkOf('a')) })).toMatchObject(GOOD);
  });

  test('T10 keys: kept, fetched again for a new kid once a minute, unavailable while there are none', async () => {
    const audiences = [AUDIENCE];
    const provider = createVeoProvider({ http, baseUrl: server.url, webhookAudiences: audiences });
    const at = (name: string, atMs: number) => {
      const seconds = Math.floor(atMs / 1_000);
      const jwt = token({ ...CLAIMS, iat: seconds, exp: seconds + 60 }, name);
      return provider.verifyCallback(headersOf(jwt, seconds), Buffer.alloc(0), [], atMs);
    };
    server.seen.length = 0;
    server.answer = { status: 503 };
    expect(await at('a', NOW_MS)).toEqual(UNAVAILABLE);
    server.answer = rsaKeySet(['a']);
    expect(await at('a', NOW_MS + 5_000)).toMatchObject(GOOD);
    expect(server.seen.map(({ url }) => url)).toEqual(Array(2).fill('/.well-known/jwks.json'));
    server.answer = rsaKeySet(['a', 'b']);
    expect(await at('b', NOW_MS + 30_000)).toEqual(UNVERIFIED);
    expect(await at('b', NOW_MS + 65_000)).toMatchObject(GOOD);
    expect(await at('a', NOW_MS + 66_000)).toMatchObject(GOOD);
    expect(server.seen).toHaveLength(3);
  });

  test('both ways at once, as while one is changed for the other', async () => {
    server.answer = rsaKeySet(['a']);
    const both = createVeoProvider({
      http,
      baseUrl: server.url,
      webhookAudiences: [AUDIENCE],
      staticWebhooks: true,
    });
    const body = Buffer.from(JSON.stringify(EVENT));
    const byProject = ofTheProject.sign(body, [SECRET], NOW);
    expect(await both.verifyCallback(byProject, body, [SECRET], NOW_MS)).toMatchObject({ eventId: 'evt_1' });
    expect(await both.verifyCallback(headersOf(withClaims({})), body, [SECRET], NOW_MS)).toMatchObject(GOOD);
  });

  test('without an audience, nothing of it is believed', async () => {
    expect(await verify(withClaims({}), { audiences: [] })).toEqual(UNVERIFIED);
    expect(server.seen).toEqual([]);
  });
});
