import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bflSimulator } from '../../src/simulators/bfl.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { png } from '../storage/media.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

let simulator: RunningSimulator;
let control: Control;
let receiver: Receiver;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator(bflSimulator, { renderMs: 20, callbackRetryMs: [10] });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());
beforeEach(async () => {
  const started = await startReceiver();
  receiver = started;
  await control.post('reset');
  return () => started.close();
});

const newPrompt = () => `bfl ${++made}.`;
const call = async (method: string, url: string, body?: unknown, header = 'x-key') => {
  const answer = await fetch(new URL(url, simulator.url), {
    method,
    headers: { [header]: 'sim-key', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const submit = async (input: object, model = 'flux-2-pro') =>
  (await call('POST', `/v1/${model}`, input)).body as { id: string; polling_url?: string; cost: unknown };
const look = (id: string, cluster = '') => call('GET', `${cluster}/v1/get_result?id=${id}`);
const ended = (id: string, cluster = '') =>
  eventually(async () => {
    const answer = await look(id, cluster);
    return answer.body['status'] === 'Pending' ? undefined : answer;
  });

describe('tasks', () => {
  test('an image: its polling URL, an estimate, a link with its end', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'render_ms', ms: 600_000 });
    const task = await submit({ prompt, width: 1344, height: 768, seed: 1, output_format: 'png' });
    expect(task).toEqual({
      id: task.id,
      polling_url: `${simulator.url}/v1/get_result?id=${task.id}`,
      cost: 3,
      input_mp: 0,
      output_mp: 1,
    });
    expect(await call('GET', task.polling_url!)).toMatchObject({
      status: 200,
      body: { id: task.id, status: 'Pending', result: null },
    });
    await control.post(`jobs/${task.id}`, { status: 'succeeded' });
    const { status, body } = await look(task.id);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'Ready', result: { prompt } } });
    expect(body).not.toHaveProperty('cost');
    const { sample } = body['result'] as { sample: string };
    const lifeMs = Date.parse(new URL(sample).searchParams.get('se') ?? '') - Date.now();
    expect(lifeMs).toBeGreaterThan(0);
    expect(lifeMs).toBeLessThanOrEqual(600_000);
    expect((await fetch(sample)).headers.get('content-type')).toBe('image/png');
  });

  test.each([
    [{}, 102],
    [{ resolution: 'hd' }, 102],
    [{ resolution: 'fhd' }, 173.4],
  ])('a video of 6 s with %o: its cost is settled with its result', async (more, cost) => {
    const task = await submit({ mode: 't2v', prompt: newPrompt(), duration: 6, ...more }, 'flux-3-video');
    expect(task.cost).toBeNull();
    expect((await ended(task.id, '/us1')).body).toMatchObject({ status: 'Ready', cost });
  });

  test('a video is known to its cluster only, where its polling URL points; one with a webhook everywhere', async () => {
    const video = { mode: 't2v', prompt: newPrompt(), duration: 5 };
    const { id, polling_url: url } = await submit(video, 'flux-3-video');
    expect(url).toBe(`${simulator.url}/us1/v1/get_result?id=${id}`);
    expect((await look(id)).body).toEqual({ id: null, status: 'Task not found', result: null });
    expect((await call('GET', url!)).body).toMatchObject({ id });
    const hooked = await submit({ ...video, webhook_url: `${receiver.url}/hook` }, 'flux-3-video');
    for (const cluster of ['', '/us1']) {
      expect((await look(hooked.id, cluster)).body).toMatchObject({ id: hooked.id });
    }
  });

  const side = (width: number, height = width) => png(width, height).toString('base64');
  test.each([
    ['flux-2-pro', {}, 3, 0, 1],
    ['flux-2-pro', { width: 2048, height: 2048 }, 7.5, 0, 4],
    ['flux-2-pro', { input_image: side(1024), width: 1024, height: 1024 }, 4.5, 1, 1],
    ['flux-2-pro', { input_image: side(1040), width: 1024, height: 1024 }, 6, 2, 1],
    ['flux-2-pro', { input_image: side(2048), width: 1024, height: 1024 }, 9, 4, 1],
    ['flux-2-pro', { input_image: side(1024), input_image_2: side(1024) }, 7.5, 2, 2],
    ['flux-2-pro', { input_image: 'https://h.example/p.png', width: 64, height: 64 }, null, null, 1],
    ['flux-2-max', { input_image: side(1024), width: 1024, height: 1024 }, 10, 1, 1],
    ['flux-2-klein-9b', { input_image: side(1024), width: 1024, height: 1024 }, 1.7, 1, 1],
    ['flux-kontext-pro', { input_image: side(2048), aspect_ratio: '4:3' }, 4, 4, 4],
  ])('%s: its price counts what it makes and what it is given', async (model, input, cost, given, makes) => {
    const task = await submit({ prompt: newPrompt(), ...input }, model);
    expect(task).toMatchObject({ cost, input_mp: given, output_mp: makes });
  });

  test('all looks are answered with 200: failed, moderated, expired, never there', async () => {
    const [failed, moderated] = [newPrompt(), newPrompt()];
    await control.fault(failed, { kind: 'fail', code: 'gpu_lost' });
    await control.fault(moderated, { kind: 'moderated' });
    const [first, second] = [await submit({ prompt: failed }), await submit({ prompt: moderated })];
    expect(await ended(first.id)).toMatchObject({
      status: 200,
      body: { status: 'Error', error: 'gpu_lost' },
    });
    expect(await ended(second.id)).toMatchObject({
      status: 200,
      body: { status: 'Request Moderated', result: null },
    });
    const third = await submit({ prompt: newPrompt() });
    expect((await ended(third.id)).body).toMatchObject({ status: 'Ready' });
    await control.post(`jobs/${third.id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    for (const id of [third.id, 'never-there']) {
      expect(await look(id)).toMatchObject({ status: 200, body: { status: 'Task not found', result: null } });
    }
  });

  test.each([
    ['authorization', '/v1/flux-2-pro', { prompt: 'p' }, 403],
    ['x-key', '/v1/flux-2-pro', {}, 422],
    ['x-key', '/v1/flux-2-pro', { prompt: 'p', width: 1080, height: 1920 }, 422],
    ['x-key', '/v1/flux-2-pro', { prompt: 'p', width: 2064, height: 2064 }, 422],
    ['x-key', '/v1/flux-2-pro', { prompt: 'p', webhook_url: 'hook' }, 422],
    ['x-key', '/v1/flux-2-pro', { prompt: 'p', aspect_ratio: '1:1' }, 422],
    ['x-key', '/v1/flux-2-flex', { prompt: 'p', resolution: '2k' }, 422],
    ['x-key', '/v1/flux-kontext-pro', { prompt: 'p', width: 1024, height: 1024 }, 422],
    ['x-key', '/v1/flux-2-huge', { prompt: 'p' }, 404],
    ['x-key', '/v1/constructor', { prompt: 'p' }, 404],
    ['x-key', '/v1/flux-3-video', { prompt: 'p' }, 422],
    ['x-key', '/v1/flux-3-video', { prompt: 'p', mode: 't2v', seed: 1 }, 422],
    ['x-key', '/v1/flux-3-video', { prompt: 'p', mode: 't2v', duration: 4 }, 422],
    ['x-key', '/v1/flux-3-video', { prompt: 'p', mode: 't2v', keyframes: 'https://h.example/p.png' }, 422],
    ['x-key', '/v1/flux-3-video', { prompt: 'p', mode: 'i2v' }, 422],
    ['x-key', '/v1/get_result', { prompt: 'p' }, 404],
    ['x-key', '/flux-2-pro', { prompt: 'p' }, 404],
  ])('%s, POST %s %o: %i', async (header, path, body, status) => {
    expect((await call('POST', path, body, header)).status).toBe(status);
    expect((await control.journal()).jobs).toEqual([]);
  });
});

describe('webhooks', () => {
  const digest = (body: Buffer, secret: string) =>
    `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  const signatures = () =>
    receiver.received.map(({ headers, body }) => {
      const sent = headers['x-bfl-signature'];
      return ['own', 'whsec_forged', 'rotated'].find((secret) => sent === digest(body, secret)) ?? sent;
    });
  const arrived = (count: number) =>
    eventually(async () => (receiver.received.length >= count ? true : undefined));

  test('one at the end, signed with the secret of its submit; the submit has no polling URL', async () => {
    const prompt = newPrompt();
    const task = await submit({ prompt, webhook_url: `${receiver.url}/hook`, webhook_secret: 'own' });
    expect(task).toEqual({
      id: task.id,
      status: 'Pending',
      webhook_url: `${receiver.url}/hook`,
      cost: 3,
      input_mp: 0,
      output_mp: 1,
    });
    await arrived(1);
    expect(signatures()).toEqual(['own']);
    expect(JSON.parse(receiver.received[0]!.body.toString())).toMatchObject({
      id: task.id,
      status: 'Ready',
      result: { prompt },
      timestamp: expect.stringMatching(/^20\d\d-/) as string,
    });
  });

  test('the simulator’s own secrets sign nothing, also when they are changed', async () => {
    await control.post('secrets', { secrets: ['another'] });
    const hook = { webhook_url: `${receiver.url}/hook`, webhook_secret: 'own' };
    await submit({ prompt: newPrompt(), ...hook });
    await arrived(1);
    expect(signatures()).toEqual(['own']);
  });

  test('a forged one has another signature, one by a fault that of its secret', async () => {
    const prompt = newPrompt();
    await control.fault(
      prompt,
      { kind: 'callback_forged' },
      { kind: 'callback_rotated', secrets: ['rotated'] },
    );
    await submit({ prompt, webhook_url: `${receiver.url}/hook`, webhook_secret: 'own' });
    await arrived(2);
    expect(new Set(signatures())).toEqual(new Set(['rotated', 'whsec_forged']));
  });

  test('without a secret nothing is signed', async () => {
    await submit({ prompt: newPrompt(), webhook_url: `${receiver.url}/hook` });
    await arrived(1);
    expect(signatures()).toEqual([undefined]);
  });
});
