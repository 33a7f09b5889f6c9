import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createFalProvider } from '../../src/providers/fal.ts';
import { keySet, signedHeaders, USER_ID } from './fal-keys.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 12);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BODY = Buffer.from('{"request_id":"r1","status":"OK","payload":null,"payload_error":"too large"}');
const UNVERIFIED = { ok: false, reason: 'unverified' };
const UNAVAILABLE = { ok: false, reason: 'unavailable' };

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
beforeEach(() => {
  server.seen.length = 0;
});

/** One adapter, as in a process that lives on: its keys are kept from call to call. */
function receiver(userIds: readonly string[] = [USER_ID]) {
  const jwksUrl = `${server.url}/keys`;
  const provider = createFalProvider({ http, baseUrl: 'https://queue.fal.run', jwksUrl, userIds });
  return async (pair: string, { atMs = NOW_MS, body = BODY, requestId = 'r1', userId = USER_ID } = {}) => {
    const headers = signedHeaders(body, pair, Math.floor(atMs / 1_000), { requestId, userId });
    return provider.verifyCallback(headers, body, [], atMs);
  };
}
const fetches = () => server.seen.length;

describe('fal: whose callback it is', () => {
  test('a success without payload is a terminal hint all the same', async () => {
    server.answer = keySet(['a']);
    expect(await receiver()('a')).toEqual({
      ok: true,
      jobId: 'r1',
      eventId: 'r1.OK',
      type: 'OK',
      terminal: true,
      progress: null,
    });
  });

  test.each([
    ['ERROR', true],
    ['IN_PROGRESS', false],
    ['ok', false],
  ])('status %s', async (status, terminal) => {
    server.answer = keySet(['a']);
    const body = Buffer.from(JSON.stringify({ request_id: 'r1', status }));
    expect(await receiver()('a', { body })).toMatchObject({ ok: true, type: status, terminal });
  });

  test('rightly signed by fal for another customer: refused before any key is fetched', async () => {
    server.answer = keySet(['a']);
    expect(await receiver()('a', { userId: 'github|666' })).toEqual(UNVERIFIED);
    for (const ours of [[], [''], ['github|1'], [`${USER_ID}0`]]) {
      expect(await receiver(ours)('a')).toEqual(UNVERIFIED);
    }
    expect(fetches()).toBe(0);
    expect(await receiver(['github|1', USER_ID])('a')).toMatchObject({ ok: true });
  });

  test('the signed request id is the one of the body', async () => {
    server.answer = keySet(['a']);
    expect(await receiver()('a', { requestId: 'r2' })).toEqual({ ok: false, reason: 'malformed' });
  });
});

describe('fal: its keys', () => {
  test('fetched once, kept for a day, then fetched again', async () => {
    server.answer = keySet(['a']);
    const verify = receiver();
    for (const atMs of [NOW_MS, NOW_MS + 1, NOW_MS + DAY_MS - 1]) {
      expect(await verify('a', { atMs })).toMatchObject({ ok: true });
    }
    expect(fetches()).toBe(1);
    expect(server.seen[0]).toMatchObject({ method: 'GET', url: '/keys' });
    expect(server.seen[0]?.headers['authorization']).toBeUndefined();
    expect(await verify('a', { atMs: NOW_MS + DAY_MS })).toMatchObject({ ok: true });
    expect(fetches()).toBe(2);
  });

  test('many callbacks at once share one fetch', async () => {
    server.answer = keySet(['a']);
    const verify = receiver();
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => verify('a')));
    expect(verdicts.every(({ ok }) => ok)).toBe(true);
    expect(fetches()).toBe(1);
  });

  test('T10 a new key is found by fetching again, at most once a minute', async () => {
    server.answer = keySet(['old']);
    const verify = receiver();
    expect(await verify('old')).toMatchObject({ ok: true });
    server.answer = keySet(['new', 'old']);
    expect(await verify('new', { atMs: NOW_MS + MINUTE_MS - 1 })).toEqual(UNVERIFIED);
    expect(fetches()).toBe(1);
    expect(await verify('new', { atMs: NOW_MS + MINUTE_MS })).toMatchObject({ ok: true });
    expect(fetches()).toBe(2);
    for (let n = 0; n < 50; n++)
      expect(await verify('foreign', { atMs: NOW_MS + MINUTE_MS + n })).toEqual(UNVERIFIED);
    expect(fetches()).toBe(2);
  });

  test('a withdrawn key verifies no more after the next fetch', async () => {
    server.answer = keySet(['old']);
    const verify = receiver();
    expect(await verify('old')).toMatchObject({ ok: true });
    server.answer = keySet(['new']);
    expect(await verify('old', { atMs: NOW_MS + DAY_MS })).toEqual(UNVERIFIED);
  });

  test.each([
    ['5xx', { status: 503 }],
    ['no JSON', { status: 200, body: '<html>' }],
    ['an empty set', { status: 200, body: '{"keys":[]}' }],
    ['no Ed25519 key', { status: 200, body: '{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},null,7]}' }],
    [
      'a key of the wrong length',
      { status: 200, body: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}' },
    ],
    ['too large', { status: 200, body: `${String(keySet(['a']).body)}${' '.repeat(70_000)}` }],
  ])('none to be had (%s): unavailable, tried again after five seconds', async (_name, answer) => {
    server.answer = answer;
    const verify = receiver();
    expect(await verify('a')).toEqual(UNAVAILABLE);
    server.answer = keySet(['a']);
    expect(await verify('a', { atMs: NOW_MS + 4_999 })).toEqual(UNAVAILABLE);
    expect(fetches()).toBe(1);
    expect(await verify('a', { atMs: NOW_MS + 5_000 })).toMatchObject({ ok: true });
  });

  test('nobody listens: unavailable, never thrown', async () => {
    const gone = await ScriptedServer.start();
    await gone.close();
    const goneHttp = httpTo(gone.url);
    const provider = createFalProvider({ http: goneHttp, baseUrl: gone.url, userIds: [USER_ID] });
    const headers = signedHeaders(BODY, 'a', NOW_MS / 1_000, { requestId: 'r1' });
    expect(await provider.verifyCallback(headers, BODY, [], NOW_MS)).toEqual(UNAVAILABLE);
    await goneHttp.close();
  });

  test('old keys go on while new ones cannot be had', async () => {
    server.answer = keySet(['a']);
    const verify = receiver();
    expect(await verify('a')).toMatchObject({ ok: true });
    server.answer = { status: 500 };
    for (const atMs of [NOW_MS + DAY_MS, NOW_MS + DAY_MS + 1, NOW_MS + 3 * DAY_MS]) {
      expect(await verify('a', { atMs })).toMatchObject({ ok: true });
    }
    expect(fetches()).toBe(3);
    expect(await verify('rotated', { atMs: NOW_MS + 3 * DAY_MS })).toEqual(UNAVAILABLE);
    expect(fetches()).toBe(3);
  });

  test('a clock that went back fetches again instead of trusting for ever', async () => {
    server.answer = keySet(['a']);
    const verify = receiver();
    expect(await verify('a', { atMs: NOW_MS + DAY_MS })).toMatchObject({ ok: true });
    expect(await verify('a')).toMatchObject({ ok: true });
    expect(fetches()).toBe(2);
  });
});
