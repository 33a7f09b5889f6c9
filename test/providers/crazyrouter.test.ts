import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createCrazyrouterProvider } from '../../src/providers/crazyrouter.ts';
import { createProviders } from '../../src/providers/index.ts';
import { crazyrouterSimulator } from '../../src/simulators/crazyrouter.ts';
import { providerContract } from './contract.testsuite.ts';
import { cancelRows, FILE_URL, NOW_MS, observeRows, submitRows, TASK } from './crazyrouter-rows.ts';
import type { ProviderFixture } from './fixture.ts';

const base: Omit<ProviderFixture, 'name' | 'create' | 'callbacks'> = {
  nowMs: NOW_MS,
  simulator: crazyrouterSimulator,
  job: { method: 'text-to-video', providerModel: 'veo3', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2 }),
  apiKey: 'sk-crazyrouter',
  jobId: TASK,
  submitRows,
  observeRows,
  cancelRows,
  outputUrls: { own: FILE_URL, foreign: 'https://evil.example/a.mp4' },
  // How long a link lives is not told, so an expired one is a dead link.
  life: { expired: { kind: 'succeeded' } },
};
const body = (id: string) => `{"id":"${id}","status":"completed","video_url":"${FILE_URL}"}`;
const verdict = { eventId: null, type: 'video.completed', terminal: true, progress: null };
const sign = (raw: Buffer, [secret = '']: readonly string[]) => ({
  'x-signature': createHmac('sha256', secret).update(raw).digest('hex'),
});

providerContract({
  ...base,
  name: 'crazyrouter',
  create: (http, baseUrl, nowMs) => createCrazyrouterProvider({ http, baseUrl, nowMs }),
  callbacks: null,
});

providerContract({
  ...base,
  name: 'crazyrouter with signed callbacks',
  create: (http, baseUrl, nowMs) =>
    createCrazyrouterProvider({
      http,
      baseUrl,
      nowMs,
      callbackMember: 'callback_url',
      signature: { header: 'x-signature', encoding: 'hex' },
    }),
  callbacks: {
    kind: 'signed',
    timestamped: false,
    manySignatures: false,
    secret: 'whsec_crazy',
    wrongKeyForms: ['crazy'],
    sign,
    body,
    verdict,
    forgeries: [
      ['one digit short', (good) => ({ 'x-signature': (good['x-signature'] ?? '').slice(1) })],
      ['another header', (good) => ({ 'x-other': good['x-signature'] ?? '' })],
    ],
  },
});

describe('crazyrouter: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const of = (settings: Record<string, string> = {}) =>
    createProviders({ http, providers: new Map([['crazyrouter', { settings }]]) }).get('crazyrouter')!;
  const build = (over: object = {}, settings: Record<string, string> = {}) =>
    of(settings).buildSubmit({
      method: 'text-to-video',
      providerModel: 'veo3',
      input: { prompt: 'tide rolling over black sand' },
      params: {},
      callbackUrl: 'https://h.example/x',
      idempotencyKey: 'k',
      ...over,
    });

  test('the submit that its article shows', () => {
    expect(build()).toEqual({
      method: 'POST',
      path: '/v1/video/create',
      contentType: 'application/json',
      body: '{"model":"veo3","prompt":"tide rolling over black sand"}',
    });
  });

  test('image to video and the other fields of its page', () => {
    const input = {
      image_url: 'https://example.com/portrait.jpg',
      prompt: 'waves',
      aspect_ratio: '16:9',
      resolution: '1280x720',
      duration_seconds: 8,
    };
    const params = { enhance_prompt: true };
    expect(JSON.parse(build({ method: 'image-to-video', input, params }).body)).toEqual({
      model: 'veo3',
      prompt: 'waves',
      images: ['https://example.com/portrait.jpg'],
      aspect_ratio: '16:9',
      size: '1280x720',
      duration: 8,
      enhance_prompt: true,
    });
    expect(() => build({ input: { prompt: 'x', seed: 1 } })).toThrow(/seed/);
    expect(() => build({ params: { prompt: 'mine' } })).toThrow(/"prompt"/);
  });

  test('idempotency is none until it is configured; the header is sent in any case', () => {
    expect(of().capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: 0,
    });
    expect(of({ IDEMPOTENCY: 'replay' }).capabilities.idempotency).toBe('replay');
    expect(of().outputHosts).toEqual(['crazyrouter.com', '*.crazyrouter.com']);
    expect('find' in of()).toBe(false);
  });

  test('callbacks by settings: member, then signature', () => {
    expect(of({ CALLBACK_MEMBER: 'notify_url' }).capabilities.callbacks).toBe('unsigned');
    const signed = { CALLBACK_MEMBER: 'notify_url', SIGNATURE_HEADER: 'X-Sig' };
    expect(of(signed).capabilities.callbacks).toBe('signed');
    expect(of({ SIGNATURE_HEADER: 'X-Sig' }).capabilities.callbacks).toBe('none');
    expect(JSON.parse(build({}, signed).body)).toMatchObject({ notify_url: 'https://h.example/x' });
    expect(JSON.parse(build({ callbackUrl: null }, signed).body)).not.toHaveProperty('notify_url');
  });

  test('an unsigned callback is taken as a hint, if it is a task at all', async () => {
    const provider = of({ CALLBACK_MEMBER: 'notify_url' });
    const verify = (text: string) => provider.verifyCallback({}, Buffer.from(text), [], NOW_MS);
    expect(await verify(body(TASK))).toEqual({ ok: true, jobId: TASK, ...verdict });
    expect(await verify(body(TASK).replace('completed', 'processing'))).toMatchObject({ terminal: false });
    expect(await verify('{"status":"completed"}')).toEqual({ ok: false, reason: 'malformed' });
  });

  test.each([
    [{ IDEMPOTENCY: 'maybe' }, /IDEMPOTENCY must be none or replay/],
    [{ QUERY_PATH: '/v1/query' }, /QUERY_PATH must be a path with \{id\}/],
    [{ STATUS_FAILED: 'a b' }, /STATUS_FAILED must be words/],
    [{ CALLBACK_MEMBER: 'a.b' }, /CALLBACK_MEMBER must be a member name/],
    [{ SIGNATURE_ENCODING: 'base32' }, /SIGNATURE_ENCODING must be hex or base64/],
  ])('%o is refused with what to write', (settings, expected) => {
    expect(() => of(settings as Record<string, string>)).toThrow(expected);
  });

  test.each(['', 'a b', 'ключ', 'k'.repeat(256)])('idempotency key %j is a defect', async (key) => {
    const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
    await expect(of().submit(build(), key, options)).rejects.toThrow(/idempotency key/);
  });
});

describe('crazyrouter: another query path and other words, by settings', () => {
  test('the id stands in the query, encoded', async () => {
    const { ScriptedServer, httpTo } = await import('./scripted-server.ts');
    const server = await ScriptedServer.start();
    const http = httpTo(server.url);
    try {
      const settings = {
        QUERY_PATH: '/v1/videos/{id}',
        STATUS_SUCCEEDED: 'DONE',
        STATUS_RUNNING: 'WAIT',
        STATUS_FAILED: 'BAD',
        STATUS_CANCELLED: 'STOP',
        OUTPUT_KEYS: 'film',
        NOT_FOUND_CODES: 'gone',
      };
      const providers = new Map([['crazyrouter', { baseUrl: server.url, settings }]]);
      const provider = createProviders({ http, providers }).get('crazyrouter')!;
      const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
      const see = (answer: object) => {
        server.answer = { status: 200, body: JSON.stringify({ id: 'sora-2:task/1', ...answer }) };
        return provider.observe({ jobId: 'sora-2:task/1' }, options);
      };
      expect(await see({ status: 'DONE', film: FILE_URL, video_url: 'https://x.example/' })).toMatchObject({
        kind: 'succeeded',
        outputs: [{ url: FILE_URL }],
      });
      expect(server.seen.at(-1)?.url).toBe('/v1/videos/sora-2%3Atask%2F1');
      expect(await see({ status: 'WAIT' })).toMatchObject({ kind: 'running', unknownStatus: false });
      expect(await see({ status: 'BAD' })).toMatchObject({ kind: 'failed' });
      expect(await see({ status: 'STOP' })).toMatchObject({ kind: 'cancelled' });
      expect(await see({ status: 'completed' })).toMatchObject({ kind: 'running', unknownStatus: true });
      expect(await see({ code: 'gone' })).toEqual({ kind: 'not_found' });
    } finally {
      await http.close();
      await server.close();
    }
  });
});
