import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp, type OutboundHttp } from '../../src/net/index.ts';
import { createMinimaxProvider, minimax as minimaxDefinition } from '../../src/providers/minimax.ts';
import { minimaxSimulator } from '../../src/simulators/minimax.ts';
import { providerContract } from './contract.testsuite.ts';
import { CREDENTIAL_NAME } from './fixture.ts';
import { cancelRows, observeRows } from './minimax-rows.ts';
import { error, JOB, NOW_MS, ok, task } from './minimax-scripted.ts';
import { submitRows } from './minimax-submit-rows.ts';
import { httpTo, ScriptedServer, type ScriptedAnswer } from './scripted-server.ts';

const callbackBody = (id: string) =>
  `{"task":{"id":"${id}","model":"MiniMax-H3","status":"succeeded","content":{"url":"https://h.example/a"}}}`;

providerContract({
  name: 'minimax',
  create: (http, baseUrl, nowMs) => createMinimaxProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: minimaxSimulator,
  job: { method: 'text-to-video', providerModel: 'MiniMax-H3', params: { aigc_watermark: false } },
  input: (prompt) => ({ prompt, duration_seconds: 4, resolution: '768p', aspect_ratio: '16:9' }),
  apiKey: 'key-of-minimax',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: {
    kind: 'unsigned',
    body: callbackBody,
    verdict: { eventId: null, type: 'task.succeeded', terminal: true, progress: null },
  },
  outputUrls: {
    own: 'https://video-product.cdn.minimax.io/inference_output/rollout/a/output.mp4',
    foreign: 'https://evil.example/a.mp4',
  },
  life: {
    // Each look gives a fresh link.
    expired: { kind: 'succeeded' },
    cancelsQueuedOnly: true,
    // The DELETE of a task that is done removes its record.
    lateCancel: { kind: 'unavailable', reason: 'not_found' },
    // The simulator's own 503, seen as the task is still queued.
    failedCancel: { kind: 'unavailable', reason: 'http_503' },
  },
});

describe('minimax: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const minimax = createMinimaxProvider({ http, baseUrl: 'https://api.minimax.io/' });
  const job = (over: Partial<SubmitJob> = {}): SubmitJob => ({
    method: 'text-to-video',
    providerModel: 'MiniMax-H3',
    input: { prompt: 'rain' },
    params: {},
    callbackUrl: null,
    idempotencyKey: 'k',
    ...over,
  });
  const built = (over: Partial<SubmitJob>) => {
    const { path, body: sent } = minimax.buildSubmit(job(over));
    return { path, body: JSON.parse(sent) as unknown };
  };

  test('text to video, as its page shows it', () => {
    const input = { prompt: 'rain', duration_seconds: 5, resolution: '2k', aspect_ratio: '16:9' };
    expect(built({ input, callbackUrl: 'https://h.example/callback' })).toEqual({
      path: '/v2/video_generation',
      body: {
        model: 'MiniMax-H3',
        content: [{ type: 'text', text: 'rain' }],
        resolution: '2K',
        duration: 5,
        ratio: '16:9',
        callback_url: 'https://h.example/callback',
      },
    });
  });

  test('image to video, as its page shows it; what the model does not ask for comes from params', () => {
    const input = { prompt: 'rain', image_url: 'https://h.example/a.png', duration_seconds: 15 };
    const params = { resolution: '768P', aigc_watermark: true };
    expect(built({ method: 'image-to-video', providerModel: 'MiniMax-H3-Max', input, params }).body).toEqual({
      model: 'MiniMax-H3-Max',
      content: [
        { type: 'text', text: 'rain' },
        { type: 'image_url', image_url: { url: 'https://h.example/a.png' }, role: 'first_frame' },
      ],
      resolution: '768P',
      duration: 15,
      aigc_watermark: true,
    });
  });

  test.each(['480p', '768P', '2K'])('a resolution of %s is sent in its own spelling', (resolution) => {
    const { body } = built({ input: { prompt: 'x', resolution } });
    expect(body).toMatchObject({ resolution: resolution.toUpperCase() });
  });

  test.each([
    ['a method that it lacks', { method: 'text-to-speech' }, /text-to-speech/],
    ['a field that it lacks', { input: { prompt: 'x', negative_prompt: 'y' } }, /negative_prompt/],
    ['a field of the other method', { input: { prompt: 'x', image_url: 'y' } }, /image_url/],
    [
      'a shape for an image',
      { method: 'image-to-video', input: { image_url: 'y', aspect_ratio: '1:1' } },
      /aspect_ratio/,
    ],
    ['a resolution that it lacks', { input: { prompt: 'x', resolution: '1080p' } }, /1080p/],
    ['an own content in params', { params: { content: [] } }, /"content"/],
    ['an own model in params', { params: { model: 'x' } }, /"model"/],
    ['an own prompt in params', { params: { prompt: 'x' } }, /"prompt"/],
    [
      'an own callback in params',
      { callbackUrl: 'https://h.example', params: { callback_url: 'x' } },
      /"callback_url"/,
    ],
  ] as [string, Partial<SubmitJob>, RegExp][])('%s is a defect', (_name, over, message) => {
    expect(() => minimax.buildSubmit(job(over))).toThrow(message);
  });

  test('capabilities, hosts, settings', () => {
    expect(minimax.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'unsigned',
      cancel: 'stops',
      list: false,
      cost: 'final',
      inlineInputBytes: 6_000_000,
    });
    const hosts = ['*.minimax.io', '*.minimaxi.com', '*.minimax.cn', '*.hailuoai.com'];
    const at = (baseUrl: string) => createMinimaxProvider({ http, baseUrl }).outputHosts;
    expect(minimax.outputHosts).toEqual(hosts);
    expect(at('https://api.minimaxi.com')).toEqual(hosts);
    expect(at('https://evilminimax.io')).toEqual(['evilminimax.io']);
    expect(() => at('minimax')).toThrow(/PROVIDER_MINIMAX_BASE_URL/);
  });

  test('settings from texts', () => {
    const set = minimaxDefinition.configure({
      LINK_LIFE_MS: '60000',
      OVERLOADED: 'capacity',
      OUTPUT_HOSTS: 'a.example,*.b.example',
    });
    if ('problems' in set) throw new Error(set.problems[0]?.problem);
    expect(set.configured.webhookSecret).toBe('none');
    const made = set.configured.create({ http, baseUrl: 'https://x.example' });
    expect(made).toMatchObject({ name: 'minimax', outputHosts: ['a.example', '*.b.example'] });
    for (const texts of [
      { LINK_LIFE_MS: '1h' },
      { LINK_LIFE_MS: '0' },
      { OVERLOADED: 'yes' },
      { OUTPUT_HOSTS: '*' },
    ]) {
      expect(minimaxDefinition.configure(texts)).toMatchObject({
        problems: [{ setting: Object.keys(texts)[0] }],
      });
    }
  });

  test.each([
    ['{"task":{"id":"1","status":"queued"}}', { jobId: '1', type: 'task.queued', terminal: false }],
    ['{"task":{"id":"1","status":"running"}}', { jobId: '1', type: 'task.running', terminal: false }],
    ['{"task":{"id":"1","status":"failed"}}', { jobId: '1', type: 'task.failed', terminal: true }],
    ['{"task":{"id":"1","status":"cancelled"}}', { jobId: '1', type: 'task.cancelled', terminal: true }],
    ['{"task":{"id":"1","status":"expired"}}', { jobId: '1', type: 'task.expired', terminal: true }],
    ['{"task":{"id":"1","status":"odd one"}}', { jobId: '1', type: 'task.unspecified', terminal: false }],
    // As version 1 words them.
    ['{"task_id":"1","status":"processing"}', { jobId: '1', type: 'task.processing', terminal: false }],
    ['{"task_id":"1","status":"success"}', { jobId: '1', type: 'task.success', terminal: true }],
    ['{"task_id":"1","status":"Success"}', { jobId: '1', type: 'task.Success', terminal: true }],
    ['{"task_id":"1","status":"Fail"}', { jobId: '1', type: 'task.Fail', terminal: true }],
    ['{"task_id":"1"}', { jobId: '1', type: 'task.unspecified', terminal: false }],
  ])('a callback is a hint: %s', async (raw, hint) => {
    expect(await minimax.verifyCallback({}, Buffer.from(raw), [], 0)).toEqual({
      ok: true,
      eventId: null,
      progress: null,
      ...hint,
    });
  });

  test.each([
    ['{"challenge":"abc-123"}', '{"challenge":"abc-123"}'],
    ['{"challenge":"a\\"b<c>&","timestamp":1}', '{"challenge":"a\\"b<c>&"}'],
    [`{"challenge":"${'x'.repeat(255)}"}`, `{"challenge":"${'x'.repeat(255)}"}`],
  ])('a check of the URL is answered: %s', (raw, answer) => {
    expect(minimax.challengeAnswer?.(Buffer.from(raw))).toBe(answer);
  });

  test.each([
    '{"challenge":""}',
    `{"challenge":"${'x'.repeat(256)}"}`,
    '{"challenge":"a b"}',
    '{"challenge":"a\\nb"}',
    '{"challenge":"é"}',
    '{"challenge":"a\\u0000"}',
    '{"challenge":7}',
    '{"challenge":{"a":1}}',
    '[{"challenge":"a"}]',
    '{"challenge":"a","task":{"id":"1","status":"failed"}}',
    '{"challenge":"a","task_id":"1"}',
    callbackBody('1'),
    'challenge=a',
    '',
  ])('no check of the URL: %s', (raw) => {
    expect(minimax.challengeAnswer?.(Buffer.from(raw))).toBeNull();
  });
});

describe('minimax: before a scripted server', () => {
  let server: ScriptedServer;
  let http: OutboundHttp;
  const options = { credential: { name: CREDENTIAL_NAME, apiKey: 'key-of-minimax' }, timeoutMs: 10_000 };
  const handle = { jobId: JOB };
  const overloaded: ScriptedAnswer = error(529, 'overloaded_error', 'overloaded');
  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });

  test.each(['running', 'succeeded', 'failed', 'cancelled', 'expired', 'paused'])(
    'E1 a task that is %s is never deleted',
    async (status) => {
      server.seen.length = 0;
      server.answer = task({ status, content: { url: 'https://h.example/a' } });
      await createMinimaxProvider({ http, baseUrl: server.url }).cancel(handle, options);
      expect(server.seen.map(({ method, url }) => [method, url])).toEqual([
        ['GET', `/v2/query/video_generation/${JOB}`],
      ]);
    },
  );

  test('a queued task is deleted by its own path, with the key', async () => {
    server.seen.length = 0;
    server.answer = ({ method }) =>
      method === 'DELETE'
        ? ok({ task_id: JOB, action: 'cancelled', status: 'cancelled' })
        : task({ status: 'queued' });
    await createMinimaxProvider({ http, baseUrl: server.url }).cancel(handle, options);
    expect(server.seen.map(({ method, url }) => [method, url])).toEqual([
      ['GET', `/v2/query/video_generation/${JOB}`],
      ['DELETE', `/v2/video_generation/${JOB}`],
    ]);
    expect(server.seen.map(({ headers }) => headers['authorization'])).toEqual(
      server.seen.map(() => 'Bearer key-of-minimax'),
    );
  });

  test('529 proves nothing, unless it is configured to mean capacity', async () => {
    server.answer = overloaded;
    const answer = (value?: 'unknown' | 'capacity') => {
      const minimax = createMinimaxProvider({ http, baseUrl: server.url, overloaded: value });
      const request = {
        method: 'POST',
        path: '/v2/video_generation',
        contentType: 'application/json',
        body: '{}',
      };
      return minimax.submit({ ...request, method: 'POST' }, 'k', options);
    };
    expect(await answer()).toEqual({ kind: 'unknown', reason: 'http_529' });
    expect(await answer('unknown')).toEqual({ kind: 'unknown', reason: 'http_529' });
    expect(await answer('capacity')).toEqual({ kind: 'capacity', reason: 'http_529', retryAfterMs: null });
    server.answer = { status: 529, body: '<html>' };
    expect(await answer('capacity')).toEqual({ kind: 'unknown', reason: 'http_529' });
  });

  test('the life of a link and the text of a task that is gone can be set', async () => {
    const minimax = createMinimaxProvider({
      http,
      baseUrl: server.url,
      linkLifeMs: 60_000,
      noTaskMessage: /no such thing/,
      nowMs: () => NOW_MS,
    });
    server.answer = task({ status: 'succeeded', content: { url: 'https://h.example/a' } });
    expect(await minimax.observe(handle, options)).toMatchObject({
      linkExpiresAt: new Date(NOW_MS + 60_000),
    });
    server.answer = error(404, 'x', 'no such thing');
    expect(await minimax.observe(handle, options)).toEqual({ kind: 'not_found' });
  });
});
