import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createVeoProvider } from '../../src/providers/veo.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';
import { JOB } from './veo-rows.ts';

const API_KEY = 'AIza-key';

describe('veo: where its key goes', () => {
  let google: ScriptedServer;
  let storage: ScriptedServer;
  let http: OutboundHttp;
  const options = { credential: { name: 'default', apiKey: API_KEY }, timeoutMs: 10_000 };
  const keysSeen = ({ seen }: ScriptedServer) => seen.map(({ headers }) => headers['x-goog-api-key']);

  beforeAll(async () => {
    google = await ScriptedServer.start();
    storage = await ScriptedServer.start();
    http = httpTo(google.url, storage.url);
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([google.close(), storage.close()]);
  });

  test('a look is a GET of the whole name, with the key in a header', async () => {
    const provider = createVeoProvider({ http, baseUrl: google.url });
    google.answer = { status: 503 };
    google.seen.length = 0;
    await provider.observe({ jobId: JOB }, options);
    expect(google.seen).toMatchObject([{ method: 'GET', url: `/v1beta/${JOB}` }]);
    expect(keysSeen(google)).toEqual([API_KEY]);
  });

  test.each([
    'k9',
    `${JOB}/../../x`,
    `models/../operations/k9`,
    `${JOB}?key=1`,
    '%2e%2e',
    `https://h/${JOB}`,
  ])('the name %j is sent nowhere', async (jobId) => {
    const provider = createVeoProvider({ http, baseUrl: google.url });
    google.seen.length = 0;
    const handle = provider.handleFromJobId(jobId, { path: '/x', body: '{}' });
    expect(await provider.observe(handle, options)).toEqual({
      kind: 'unavailable',
      reason: 'bad_job_id',
      denied: false,
      retryAfterMs: null,
    });
    expect(google.seen).toEqual([]);
  });

  /** A download as it is made of an output, from the API's own server. */
  async function download(target: string) {
    const provider = createVeoProvider({
      http,
      baseUrl: google.url,
      outputHosts: [new URL(google.url).host, new URL(storage.url).host],
    });
    google.seen.length = 0;
    storage.seen.length = 0;
    google.answer = ({ url }) =>
      url.startsWith('/v1beta/files/')
        ? { status: 302, headers: { location: target } }
        : { status: 200, body: 'video' };
    storage.answer = { status: 200, body: 'video' };
    return http.download({
      url: `${google.url}/v1beta/files/abc:download?alt=media`,
      hosts: provider.outputHosts,
      headersFor: (url) => provider.downloadAuth(url, options.credential),
      limits: { maxBytes: 1_000, idleMs: 5_000, totalMs: 10_000 },
      signal: new AbortController().signal,
      write: () => Promise.resolve(),
    });
  }

  test('a download carries it, and over a redirect within the API', async () => {
    expect(await download('/download/abc?alt=media')).toMatchObject({ kind: 'complete', bytes: 5 });
    expect(keysSeen(google)).toEqual([API_KEY, API_KEY]);
    expect(google.seen.every(({ url }) => !url.includes(API_KEY))).toBe(true);
  });

  test('T9 a redirect to another origin loses it, another port of the host too', async () => {
    expect(await download(`${storage.url}/a.mp4`)).toMatchObject({ kind: 'complete', bytes: 5 });
    expect(keysSeen(google)).toEqual([API_KEY]);
    expect(keysSeen(storage)).toEqual([undefined]);
    expect(JSON.stringify(storage.seen)).not.toContain(API_KEY);
  });

  test('only its own origin, over https', () => {
    const provider = createVeoProvider({ http, baseUrl: 'https://generativelanguage.googleapis.com/v1beta' });
    const auth = (url: string) => provider.downloadAuth(new URL(url), options.credential);
    const file = 'v1beta/files/a:download?alt=media';
    expect(auth(`https://generativelanguage.googleapis.com/${file}`)).toEqual({ 'x-goog-api-key': API_KEY });
    for (const origin of [
      'http://generativelanguage.googleapis.com',
      'https://generativelanguage.googleapis.com:8443',
      'https://storage.googleapis.com',
      'https://generativelanguage.googleapis.com.evil.example',
      'https://evil.example',
    ]) {
      expect(auth(`${origin}/${file}`), origin).toEqual({});
    }
  });
});
