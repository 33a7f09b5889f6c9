import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOutboundHttp, type OutboundHttp } from '../../src/net/index.ts';
import { createProviders } from '../../src/providers/index.ts';
import { openaivideos } from '../../src/providers/openaivideos.ts';
import { AGGREGATOR, made, type Settings } from './openaivideos-fixture.ts';
import { CONTENT, FILE_URL, NOW_MS, VIDEO } from './openaivideos-rows.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

describe('openaivideos: settings', () => {
  const http = createOutboundHttp({ allow: [] });
  const of = (settings: Settings = {}, baseUrl = 'https://api.aggregator.example/v1/') =>
    createProviders({ http, providers: new Map([['openaivideos', { baseUrl, settings }]]) }).get(
      'openaivideos',
    )!;

  test('what it can do without any', () => {
    const provider = of();
    expect(provider.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: 700_000,
    });
    expect(provider.outputHosts).toEqual(['api.aggregator.example']);
    expect('find' in provider || 'list' in provider).toBe(false);
  });

  test('what settings add', () => {
    expect(of(AGGREGATOR).capabilities).toMatchObject({
      idempotency: 'replay',
      callbacks: 'signed',
      inlineInputBytes: 5_000_000,
    });
    expect(of({ COST_UNIT: 'USD' }).capabilities.cost).toBe('final');
    expect(of({ INPUT_REFERENCE: 'text' }).capabilities.inlineInputBytes).toBe(0);
    expect(of({ OUTPUT_HOSTS: '*.cdn.example' }).outputHosts).toEqual(['*.cdn.example']);
    const secretUse = (settings: Settings) => {
      const read = openaivideos.configure(settings);
      return 'configured' in read ? read.configured.webhookSecret : null;
    };
    expect([secretUse({}), secretUse({ WEBHOOKS: 'standard' })]).toEqual(['none', 'required']);
  });

  test('the key goes to the origin of the API only', () => {
    const auth = (url: string, settings: Settings = {}) =>
      of(settings).downloadAuth(new URL(url), { name: 'default', apiKey: 'k' });
    expect(auth(CONTENT('https://api.aggregator.example'))).toEqual({ authorization: 'Bearer k' });
    expect(auth(CONTENT('https://api.aggregator.example'), { AUTH_SCHEME: 'Basic' })).toEqual({
      authorization: 'Basic k',
    });
    expect(auth(CONTENT('https://api.aggregator.example'), { AUTH_SCHEME: 'none' })).toEqual({
      authorization: 'k',
    });
    for (const url of [
      'http://api.aggregator.example/v1/videos/x/content',
      'https://api.aggregator.example:8443/v1/videos/x/content',
      'https://api.aggregator.example.evil.example/x',
      FILE_URL,
    ]) {
      expect(auth(url)).toEqual({});
    }
  });

  test.each([
    [{ SUBMIT_FORMAT: 'form' }, /SUBMIT_FORMAT must be multipart or json/],
    [{ SUBMIT_PATH: 'https://evil.example/' }, /SUBMIT_PATH must be a path/],
    [{ QUERY_PATH: '/v1/videos' }, /QUERY_PATH must be a path with \{id\}/],
    [{ CONTENT_PATH: '//evil.example/' }, /CONTENT_PATH must be a path with \{id\}/],
    [{ INPUT_REFERENCE: 'file' }, /INPUT_REFERENCE must be object or text/],
    [{ AUTH_SCHEME: 'Bearer x' }, /AUTH_SCHEME must be a word/],
    [{ STATUS_FAILED: 'a b' }, /STATUS_FAILED must be words/],
    [{ IDEMPOTENCY: 'maybe' }, /IDEMPOTENCY must be none or replay/],
    [{ RETRIES_UPSTREAMS: 'no' }, /RETRIES_UPSTREAMS must be true or false/],
    [{ WEBHOOKS: 'yes' }, /WEBHOOKS must be none or standard/],
    [{ CALLBACK_MEMBER: 'a.b' }, /CALLBACK_MEMBER must be a member name/],
    [{ OUTPUT_KEYS: 'metadata.url' }, /OUTPUT_KEYS must be member names/],
  ])('%o is refused with what to write', (settings, expected) => {
    expect(() => of(settings as Settings)).toThrow(expected);
  });

  test('an address that is none', () => {
    expect(() => of({}, 'aggregator')).toThrow(/PROVIDER_OPENAIVIDEOS_BASE_URL/);
  });
});

describe('openaivideos: other words, by settings', () => {
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
  const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
  const see = (settings: Settings, members: object, jobId = VIDEO) => {
    server.answer = { status: 200, body: JSON.stringify({ id: jobId, ...members }) };
    return made(http, server.url, settings, () => NOW_MS).observe({ jobId }, options);
  };

  test('OpenRouter: its states, signed URLs, what it cost', async () => {
    const settings = {
      STATUS_RUNNING: 'pending,in_progress',
      STATUS_FAILED: 'failed,expired',
      STATUS_CANCELLED: 'cancelled',
      OUTPUT_KEYS: 'urls',
      COST_UNIT: 'USD',
    };
    const urls = [`${FILE_URL}?sig=1`];
    expect(await see(settings, { status: 'pending' })).toMatchObject({
      kind: 'running',
      unknownStatus: false,
    });
    expect(await see(settings, { status: 'cancelled' })).toEqual({
      kind: 'cancelled',
      status: 'cancelled',
      cost: null,
    });
    expect(await see(settings, { status: 'expired', error: 'secret' })).toMatchObject({
      kind: 'failed',
      code: 'provider_failed',
    });
    const done = { status: 'completed', urls, unsigned_urls: ['https://x.example/'], usage: { cost: 0.5 } };
    expect(await see(settings, done)).toEqual({
      kind: 'succeeded',
      status: 'completed',
      outputs: [{ url: urls[0] }],
      linkExpiresAt: null,
      cost: { amount: '0.5', unit: 'USD', final: true },
    });
    expect(await see({}, done)).toMatchObject({ outputs: [{ url: CONTENT(server.url) }], cost: null });
    expect(await see(settings, { ...done, usage: { cost: 'much' } })).toMatchObject({ cost: null });
  });

  test.each([
    ['failed', {}],
    ['failed', { error: { code: 'moderation_blocked' } }],
    ['completed', { error: { code: 'render_error' } }],
    ['cancelled', {}],
  ])('what an end without a video cost is told: %s %o', async (status, members) => {
    const settings = { STATUS_CANCELLED: 'cancelled', COST_UNIT: 'USD' };
    const cost = (amount: string) => ({ amount, unit: 'USD', final: true });
    const end = { status, ...members };
    expect(await see(settings, { ...end, usage: { cost: 0.25 } })).toMatchObject({ cost: cost('0.25') });
    expect(await see(settings, { ...end, usage: { cost: 0 } })).toMatchObject({ cost: cost('0') });
    expect(await see(settings, end)).toMatchObject({ cost: null });
    expect(await see({ STATUS_CANCELLED: 'cancelled' }, { ...end, usage: { cost: 0.25 } })).toMatchObject({
      cost: null,
    });
  });

  test('New API: metadata.url; Inworld: output.videos[0].url, whose link ends before the file', async () => {
    expect(
      await see({ OUTPUT_KEYS: 'metadata,url' }, { status: 'completed', metadata: { url: FILE_URL } }),
    ).toMatchObject({ kind: 'succeeded', outputs: [{ url: FILE_URL }] });
    const inworld = {
      status: 'completed',
      expires_at: '2026-12-06T12:00:00Z',
      url_expires_at: '2026-11-29T13:00:00Z',
      output: { videos: [{ url: FILE_URL }] },
    };
    expect(await see({ OUTPUT_KEYS: 'output,videos,url' }, inworld)).toMatchObject({
      outputs: [{ url: FILE_URL }],
      linkExpiresAt: new Date('2026-11-29T13:00:00Z'),
    });
    expect(await see({}, inworld)).toMatchObject({ linkExpiresAt: new Date('2026-12-06T12:00:00Z') });
  });

  test('paths, the key’s scheme, codes; an id is encoded', async () => {
    const settings = {
      QUERY_PATH: '/v1/video/query?id={id}',
      CONTENT_PATH: '/dl/{id}',
      AUTH_SCHEME: 'Basic',
      NOT_FOUND_CODES: 'gone',
      CONTENT_CODES: 'bad_words',
    };
    const id = 'sora-2:task/1';
    expect(await see(settings, { status: 'completed' }, id)).toMatchObject({
      outputs: [{ url: `${server.url}/dl/sora-2%3Atask%2F1` }],
    });
    expect(server.seen.at(-1)).toMatchObject({
      url: '/v1/video/query?id=sora-2%3Atask%2F1',
      headers: { authorization: 'Basic k' },
    });
    expect(await see(settings, { code: 'gone' })).toEqual({ kind: 'not_found' });
    expect(await see(settings, { code: 'task_not_exist' })).toMatchObject({ kind: 'unavailable' });
    expect(await see(settings, { status: 'failed', error: { code: 'bad_words' } })).toMatchObject({
      code: 'content_rejected',
    });
    expect(await see({}, { status: 'failed', error: { code: 'bad_words' } })).toMatchObject({
      code: 'provider_failed',
    });
  });

  test('the idempotency key is sent only where it is replayed', async () => {
    server.answer = { status: 200, body: `{"id":"${VIDEO}"}` };
    const job = {
      method: 'text-to-video',
      providerModel: 'sora-2',
      params: {},
      input: { prompt: 'x' },
      callbackUrl: null,
      idempotencyKey: 'key-9',
    } as const;
    for (const settings of [{}, { IDEMPOTENCY: 'replay', SUBMIT_PATH: '/v2/make' }] as const) {
      const provider = made(http, `${server.url}/api/v1`, settings);
      await provider.submit(provider.buildSubmit(job), 'key-9', options);
    }
    const [plain, replay] = server.seen.slice(-2);
    expect(plain).toMatchObject({
      method: 'POST',
      url: '/api/v1/videos',
      headers: { authorization: 'Bearer k' },
    });
    expect(plain?.headers).not.toHaveProperty('idempotency-key');
    expect(replay).toMatchObject({ url: '/api/v2/make', headers: { 'idempotency-key': 'key-9' } });
  });

  test('content that is redirected to another host: only where OUTPUT_HOSTS names it, and without the key', async () => {
    const other = await ScriptedServer.start();
    const elsewhere = `http://localhost:${new URL(other.url).port}`;
    const outbound = httpTo(server.url, elsewhere);
    const download = (settings: Settings) => {
      const provider = made(outbound, server.url, settings);
      return outbound.download({
        url: CONTENT(server.url),
        hosts: provider.outputHosts,
        headersFor: (url) => provider.downloadAuth(url, options.credential),
        limits: { maxBytes: 1_000, idleMs: 60_000, totalMs: 60_000 },
        signal: new AbortController().signal,
        write: () => Promise.resolve(),
      });
    };
    try {
      server.answer = { status: 302, headers: { location: `${elsewhere}/file.mp4` } };
      other.answer = { status: 200, headers: { 'content-type': 'video/mp4' }, body: 'bytes' };
      expect(await download({})).toMatchObject({ kind: 'rejected', reason: 'blocked_host' });
      expect(other.seen).toEqual([]);
      const named = { OUTPUT_HOSTS: '127.0.0.1,localhost' };
      expect(await download(named)).toMatchObject({ kind: 'complete', bytes: 5 });
      expect(server.seen.at(-1)?.headers).toMatchObject({ authorization: 'Bearer k' });
      expect(other.seen).toHaveLength(1);
      expect(other.seen[0]?.headers).not.toHaveProperty('authorization');
    } finally {
      await outbound.close();
      await other.close();
    }
  });
});
