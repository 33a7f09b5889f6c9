import { describe, expect, test } from 'vitest';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider, kling as klingDefinition } from '../../src/providers/kling.ts';
import { providerContract } from './contract.testsuite.ts';
import { klingFixture } from './kling-fixture.ts';

providerContract(klingFixture);

describe('kling: only here', () => {
  const http = createOutboundHttp({ allow: [] });
  const kling = createKlingProvider({ http, baseUrl: 'https://api-singapore.klingai.com/' });
  const job = (over: Partial<SubmitJob> = {}): SubmitJob => ({
    method: 'text-to-video',
    providerModel: 'kling-3.0',
    input: { prompt: 'rain' },
    params: {},
    callbackUrl: null,
    idempotencyKey: '5a8c2b1e-0000-5000-8000-000000000001',
    ...over,
  });
  const built = (over: Partial<SubmitJob>) => {
    const { path, body: sent } = kling.buildSubmit(job(over));
    return { path, body: JSON.parse(sent) as unknown };
  };

  test('text to video, as its page shows it', () => {
    const input = {
      prompt: 'rain',
      duration_seconds: 15,
      resolution: '4k',
      aspect_ratio: '16:9',
      audio: false,
    };
    const params = { settings: { multi_shot: true }, options: { watermark_info: { enabled: false } } };
    expect(built({ input, params, callbackUrl: 'https://h.example/callback' })).toEqual({
      path: '/text-to-video/kling-3.0',
      body: {
        prompt: 'rain',
        settings: { resolution: '4k', aspect_ratio: '16:9', duration: 15, audio: 'off', multi_shot: true },
        options: {
          callback_url: 'https://h.example/callback',
          external_task_id: '5a8c2b1e-0000-5000-8000-000000000001',
          watermark_info: { enabled: false },
        },
      },
    });
  });

  test('image to video, as its page shows it', () => {
    const input = { prompt: 'rain', image_url: 'https://h.example/a.png', audio: true };
    const { path, body: sent } = built({ method: 'image-to-video', providerModel: 'kling-3.0-turbo', input });
    expect(path).toBe('/image-to-video/kling-3.0-turbo');
    expect(sent).toMatchObject({
      contents: [
        { type: 'prompt', text: 'rain' },
        { type: 'first_frame', url: 'https://h.example/a.png' },
      ],
      settings: { audio: 'native' },
    });
    const bare = built({ method: 'image-to-video', input: { image_url: 'https://h.example/a.png' } });
    expect(bare.body).toEqual({
      contents: [{ type: 'first_frame', url: 'https://h.example/a.png' }],
      options: { external_task_id: '5a8c2b1e-0000-5000-8000-000000000001' },
    });
  });

  test.each([
    ['a method that it lacks', { method: 'text-to-speech' }, /method "text-to-speech"/],
    ['a field that 3.0 lacks', { input: { prompt: 'x', negative_prompt: 'y' } }, /"negative_prompt"/],
    ['a field of the other method', { input: { prompt: 'x', image_url: 'y' } }, /"image_url"/],
    ['a model that leaves its path', { providerModel: '../kling' }, /kling-3\.0/],
    ['a key with a comma', { idempotencyKey: 'a,b' }, /external task id/],
    ['an own external id in params', { params: { options: { external_task_id: 'x' } } }, /external_task_id/],
    ['an own prompt in params', { params: { prompt: 'x' } }, /"prompt"/],
  ] as [string, Partial<SubmitJob>, RegExp][])('%s is a defect', (_name, over, message) => {
    expect(() => kling.buildSubmit(job(over))).toThrow(message);
  });

  test('capabilities, hosts, settings', () => {
    expect(kling.capabilities).toEqual({
      idempotency: 'lookup',
      callbacks: 'unsigned',
      cancel: 'unsupported',
      list: true,
      cost: 'final',
      inlineInputBytes: 0,
    });
    expect(kling.outputHosts).toEqual(['*.klingai.com', '*.kechuangai.com']);
    const own = createKlingProvider({ http, baseUrl: 'https://x.example', signedCallbacks: true });
    expect(own.capabilities.callbacks).toBe('signed');
    expect(own.outputHosts).toEqual(['x.example']);
    expect(() => createKlingProvider({ http, baseUrl: 'kling' })).toThrow(/PROVIDER_KLING_BASE_URL/);
  });

  test('settings from texts', () => {
    const read = (texts: Record<string, string>) => klingDefinition.configure(texts);
    const made = (texts: Record<string, string>) => {
      const found = read(texts);
      if ('problems' in found) throw new Error(found.problems[0]?.problem);
      return {
        webhookSecret: found.configured.webhookSecret,
        provider: found.configured.create({ http, baseUrl: 'https://x.example' }),
      };
    };
    expect(made({})).toMatchObject({
      webhookSecret: 'none',
      provider: { name: 'kling', outputHosts: ['x.example'] },
    });
    const set = made({
      SIGNED_CALLBACKS: 'true',
      OUTPUT_HOSTS: 'a.example,*.b.example',
      DUPLICATE_CODES: '1201,1205',
    });
    expect(set).toMatchObject({
      webhookSecret: 'required',
      provider: { capabilities: { callbacks: 'signed' }, outputHosts: ['a.example', '*.b.example'] },
    });
    expect(made({ SIGNED_CALLBACKS: 'false' }).webhookSecret).toBe('none');
    for (const texts of [
      { SIGNED_CALLBACKS: 'yes' },
      { DUPLICATE_CODES: 'a' },
      { OUTPUT_HOSTS: 'https://x' },
    ]) {
      expect(read(texts)).toMatchObject({ problems: [{ setting: Object.keys(texts)[0] }] });
    }
  });

  test.each([
    ['{"id":"1","status":"processing"}', { jobId: '1', type: 'task.processing', terminal: false }],
    ['{"id":"1","status":"failed"}', { jobId: '1', type: 'task.failed', terminal: true }],
    ['{"task_id":"1","task_status":"succeed"}', { jobId: '1', type: 'task.succeed', terminal: true }],
    ['{"id":"1","status":"odd one"}', { jobId: '1', type: 'task.unspecified', terminal: false }],
    ['{"other":1}', { jobId: null, type: 'task.unspecified', terminal: false }],
  ])('an unsigned callback is a hint: %s', async (raw, hint) => {
    expect(await kling.verifyCallback({}, Buffer.from(raw), [], 0)).toMatchObject({ ok: true, ...hint });
  });
});
