import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Method } from '../../src/domain/input-fields.ts';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp, type OutboundHttp } from '../../src/net/index.ts';
import { createRunwayProvider, runway as runwayDefinition } from '../../src/providers/runway.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { runwaySimulator } from '../../src/simulators/runway.ts';
import { Control } from '../simulators/control.ts';
import { accepted } from './bench.ts';
import { providerContract } from './contract.testsuite.ts';
import { CREDENTIAL_NAME } from './fixture.ts';
import { cancelRows, JOB, NOW_MS, observeRows, submitRows } from './runway-rows.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

const deletedByUs = { kind: 'not_found' } as const;

providerContract({
  name: 'runway',
  create: (http, baseUrl, nowMs) => createRunwayProvider({ http, baseUrl, nowMs }),
  nowMs: NOW_MS,
  simulator: runwaySimulator,
  job: { method: 'text-to-video', providerModel: 'gen4.5', params: {} },
  input: (prompt) => ({ prompt, duration_seconds: 2, aspect_ratio: '16:9' }),
  apiKey: 'key_of_runway',
  jobId: JOB,
  submitRows,
  observeRows,
  cancelRows,
  callbacks: null,
  outputUrls: {
    own: 'https://dnznrvs05pmza.cloudfront.net/a.mp4',
    foreign: 'https://evil.example/a.mp4',
  },
  life: {
    // Each look gives fresh links.
    expired: { kind: 'succeeded' },
    // A deleted task can't be fetched again, nor one that was done just before the DELETE.
    cancelled: { answer: { kind: 'answered', observation: deletedByUs }, observation: deletedByUs },
    lateCancel: { kind: 'answered', observation: deletedByUs },
  },
});

describe('runway: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const runway = createRunwayProvider({ http, baseUrl: 'https://api.dev.runwayml.com/v1/' });
  const job = (over: Partial<SubmitJob>): SubmitJob => ({
    method: 'text-to-video',
    providerModel: 'hailuo3',
    input: { prompt: 'rain' },
    params: {},
    callbackUrl: null,
    idempotencyKey: 'k',
    ...over,
  });

  test.each([
    [
      'text-to-video',
      'gen4.5',
      { prompt: 'paper boat', aspect_ratio: '9:16', duration_seconds: 5, seed: 7 },
      {},
      '/v1/text_to_video',
      { model: 'gen4.5', promptText: 'paper boat', ratio: '720:1280', duration: 5, seed: 7 },
    ],
    [
      'text-to-video',
      'hailuo3',
      { prompt: 'x', aspect_ratio: '16:9', resolution: '768p' },
      {},
      '/v1/text_to_video',
      { model: 'hailuo3', promptText: 'x', ratio: '16:9', resolution: '768p' },
    ],
    [
      'image-to-video',
      'veo3.1',
      { image_url: 'https://h.example/a.png', negative_prompt: 'y', aspect_ratio: '1280:720', audio: true },
      {},
      '/v1/image_to_video',
      {
        model: 'veo3.1',
        promptImage: 'https://h.example/a.png',
        negativePrompt: 'y',
        ratio: '1280:720',
        audio: true,
      },
    ],
    [
      'image-to-video',
      'gen4_turbo',
      { image_url: 'https://h.example/a.png' },
      { ratio: '1280:720', contentModeration: { publicFigureThreshold: 'low' } },
      '/v1/image_to_video',
      {
        model: 'gen4_turbo',
        promptImage: 'https://h.example/a.png',
        ratio: '1280:720',
        contentModeration: { publicFigureThreshold: 'low' },
      },
    ],
    [
      'text-to-image',
      'gen4_image',
      { prompt: 'x', aspect_ratio: '1:1', count: 2 },
      {},
      '/v1/text_to_image',
      { model: 'gen4_image', promptText: 'x', ratio: '1024:1024', outputCount: 2 },
    ],
    [
      'text-to-speech',
      'eleven_v3',
      { text: 'Hello', voice: 'Maya' },
      { languageCode: 'en' },
      '/v1/text_to_speech',
      {
        model: 'eleven_v3',
        promptText: 'Hello',
        voice: { type: 'runway-preset', presetId: 'Maya' },
        languageCode: 'en',
      },
    ],
  ] as [Method, string, SubmitJob['input'], SubmitJob['params'], string, object][])(
    '%s with %s, by the types of the SDK',
    (method, providerModel, input, params, path, body) => {
      const built = runway.buildSubmit(job({ method, providerModel, input, params }));
      expect(built).toMatchObject({ method: 'POST', path, contentType: 'application/json' });
      expect(JSON.parse(built.body)).toEqual(body);
    },
  );

  test.each([
    ['a field of another method', { input: { prompt: 'x', voice: 'Maya' } }, /voice/],
    ['a size that the model lacks', { providerModel: 'gen4.5', input: { aspect_ratio: '5:4' } }, /5:4/],
    ['an own model in params', { params: { model: 'x' } }, /"model"/],
    ['an own prompt in params', { params: { promptText: 'x' } }, /"promptText"/],
  ] as [string, Partial<SubmitJob>, RegExp][])('%s is a defect', (_name, over, message) => {
    expect(() => runway.buildSubmit(job(over))).toThrow(message);
  });

  test('capabilities, hosts, settings', () => {
    expect(runway.capabilities).toEqual({
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'may_bill',
      list: false,
      cost: 'final',
      inlineInputBytes: 3_300_000,
    });
    expect(runway.outputHosts).toEqual(['dnznrvs05pmza.cloudfront.net', 'd2jqrm6oza8nb6.cloudfront.net']);
    expect(createRunwayProvider({ http, baseUrl: 'https://x.example' }).outputHosts).toEqual(['x.example']);
    expect(() => createRunwayProvider({ http, baseUrl: 'runway' })).toThrow(/PROVIDER_RUNWAY_BASE_URL/);
  });

  test('settings from texts', () => {
    const set = runwayDefinition.configure({
      API_VERSION: '2027-01-01',
      QUOTA_RETRY_MS: '5000',
      OUTPUT_HOSTS: 'a.example',
    });
    if ('problems' in set) throw new Error(set.problems[0]?.problem);
    expect(set.configured.webhookSecret).toBe('none');
    const made = set.configured.create({ http, baseUrl: 'https://x.example' });
    expect(made).toMatchObject({ name: 'runway', outputHosts: ['a.example'] });
    for (const texts of [{ API_VERSION: 'latest' }, { QUOTA_RETRY_MS: '1h' }, { OUTPUT_HOSTS: '*' }]) {
      expect(runwayDefinition.configure(texts)).toMatchObject({
        problems: [{ setting: Object.keys(texts)[0] }],
      });
    }
  });
});

describe('runway: cancel', () => {
  let server: ScriptedServer;
  let simulator: RunningSimulator;
  let control: Control;
  let http: OutboundHttp;
  const options = { credential: { name: CREDENTIAL_NAME, apiKey: 'key_of_runway' }, timeoutMs: 10_000 };
  const handle = { jobId: JOB };

  beforeAll(async () => {
    server = await ScriptedServer.start();
    simulator = await startSimulator(runwaySimulator, { apiKeys: ['key_of_runway'], renderMs: 20 });
    control = new Control(simulator.url);
    http = httpTo(server.url, simulator.url);
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([server.close(), simulator.close()]);
  });

  test.each(['SUCCEEDED', 'FAILED', 'CANCELLED', 'DONE'])(
    'E1 a task that is %s is never deleted',
    async (status) => {
      server.seen.length = 0;
      server.answer = {
        status: 200,
        body: JSON.stringify({ id: JOB, status, output: ['https://h.example/a'] }),
      };
      await createRunwayProvider({ http, baseUrl: server.url }).cancel(handle, options);
      expect(server.seen.map(({ method }) => method)).toEqual(['GET']);
    },
  );

  test('the version goes with every call, and can be another one', async () => {
    server.seen.length = 0;
    let looks = 0;
    server.answer = ({ method }) => ({
      status: method === 'DELETE' ? 204 : 200,
      body: JSON.stringify({ id: JOB, status: looks++ === 0 ? 'RUNNING' : 'CANCELLED' }),
    });
    const runway = createRunwayProvider({ http, baseUrl: server.url, apiVersion: '2027-01-01' });
    expect(await runway.cancel(handle, options)).toMatchObject({ observation: { kind: 'cancelled' } });
    expect(server.seen.map(({ method, headers }) => [method, headers['x-runway-version']])).toEqual([
      ['GET', '2027-01-01'],
      ['DELETE', '2027-01-01'],
      ['GET', '2027-01-01'],
    ]);
    expect(server.seen.every(({ headers }) => headers['authorization'] === 'Bearer key_of_runway')).toBe(
      true,
    );
  });

  test('a finished task and its output outlive a cancel', async () => {
    const runway = createRunwayProvider({ http, baseUrl: simulator.url });
    const request = runway.buildSubmit({
      method: 'text-to-image',
      providerModel: 'gen4_image',
      input: { prompt: 'kept', aspect_ratio: '1:1' },
      params: {},
      callbackUrl: null,
      idempotencyKey: 'k',
    });
    const made = accepted(await runway.submit(request, 'k', options));
    await control.post(`jobs/${made.jobId}`, { status: 'succeeded' });
    const answer = await runway.cancel(made, options);
    expect(answer).toMatchObject({ kind: 'answered', observation: { kind: 'succeeded' } });
    const [job] = (await control.journal('kept')).jobs;
    expect(job).toMatchObject({ cancels: 0, deleted: false });
    expect(await runway.observe(made, options)).toMatchObject({ kind: 'succeeded' });
  });
});
