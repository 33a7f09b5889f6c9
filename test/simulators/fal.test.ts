import { createHash, createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { FAL_SIMULATOR_USER, falSimulator } from '../../src/simulators/fal.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

interface Queued {
  readonly request_id: string;
  readonly status_url: string;
  readonly response_url: string;
  readonly cancel_url: string;
}

let simulator: RunningSimulator;
let control: Control;
let receiver: Receiver;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator(falSimulator, { renderMs: 20, callbackRetryMs: [10] });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());
beforeEach(async () => {
  const started = await startReceiver();
  receiver = started;
  await control.post('reset');
  return () => started.close();
});

const newPrompt = () => `fal ${++made}.`;
const call = async (method: string, url: string, body?: unknown, scheme = 'Key') => {
  const answer = await fetch(new URL(url, simulator.url), {
    method,
    headers: { authorization: `${scheme} sim-key`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const submit = async (input: object, path = '/fal-ai/veo3') =>
  (await call('POST', path, input)).body as unknown as Queued;
const completed = ({ status_url: url }: Queued) =>
  eventually(async () => {
    const answer = await call('GET', url);
    return answer.body['status'] === 'COMPLETED' ? answer : undefined;
  });

describe('queue', () => {
  test('202 while it waits or runs, 200 at the end', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'render_ms', ms: 600_000 });
    const queued = await submit({ prompt });
    expect(await call('GET', queued.status_url)).toMatchObject({
      status: 202,
      body: { status: 'IN_QUEUE', request_id: queued.request_id, queue_position: 0 },
    });
    await control.post(`jobs/${queued.request_id}`, { status: 'running' });
    const running = await call('GET', `${queued.status_url}?logs=1`);
    expect(running).toMatchObject({ status: 202, body: { status: 'IN_PROGRESS', logs: [] } });
    expect(await call('GET', queued.response_url)).toEqual({
      status: 400,
      body: { detail: 'Request is still in progress' },
    });
    await control.post(`jobs/${queued.request_id}`, { status: 'succeeded' });
    const done = await completed(queued);
    expect(done).toMatchObject({
      status: 200,
      body: { metrics: { inference_time: expect.any(Number) as number } },
    });
    expect(done.body).not.toHaveProperty('error');
  });

  test.each([
    ['/fal-ai/veo3', { prompt: 'p', duration: '8s' }, 'video', 'video/mp4'],
    ['/fal-ai/flux/schnell', { prompt: 'p', num_images: 2 }, 'images', 'image/png'],
    ['/fal-ai/x/tts', { text: 'p' }, 'audio', 'audio/wav'],
    ['/workflows/me/flow', { prompt: 'p' }, 'video', 'video/mp4'],
  ])('POST %s', async (path, input, member, type) => {
    const queued = await submit(input, path);
    await completed(queued);
    const { body } = await call('GET', queued.response_url);
    const [file] = [body[member]].flat() as { url: string; content_type: string }[];
    expect(file?.content_type).toBe(type);
    expect((await fetch(file?.url ?? '')).headers.get('content-type')).toBe(type);
  });

  test('the key is a Key, not a Bearer', async () => {
    expect(await call('POST', '/fal-ai/veo3', { prompt: 'p' }, 'Bearer')).toMatchObject({ status: 401 });
  });

  test('bad input, an unknown path, another app', async () => {
    expect(await call('POST', '/fal-ai/veo3', { seed: 1 })).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'prompt'] }] },
    });
    expect(await call('POST', '/fal-ai/veo3?fal_webhook=x', { prompt: 'p' })).toMatchObject({ status: 422 });
    expect(await call('POST', '/veo3', { prompt: 'p' })).toMatchObject({ status: 404 });
    const { request_id: id } = await submit({ prompt: newPrompt() });
    expect(await call('GET', `/fal-ai/other/requests/${id}/status`)).toMatchObject({ status: 404 });
    expect(await call('GET', `/fal-ai/veo3/requests/none`)).toMatchObject({ status: 404 });
  });

  test('failed and moderated: the status names fal’s own error only, the result replays both', async () => {
    const [failed, moderated] = [newPrompt(), newPrompt()];
    await control.fault(failed, { kind: 'fail', code: 'runner_disconnected' });
    await control.fault(moderated, { kind: 'moderated' });
    const [first, second] = [await submit({ prompt: failed }), await submit({ prompt: moderated })];
    expect((await completed(first)).body).toMatchObject({ error_type: 'runner_disconnected' });
    expect(await call('GET', first.response_url)).toMatchObject({
      status: 500,
      body: { error_type: expect.stringMatching(/disconnected/) as string },
    });
    expect((await completed(second)).body).not.toHaveProperty('error_type');
    expect(await call('GET', second.response_url)).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'content_policy_violation' }] },
    });
  });

  test('a result is removed after its time, the status stays', async () => {
    const queued = await submit({ prompt: newPrompt() });
    await completed(queued);
    await control.post(`jobs/${queued.request_id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
    expect(await call('GET', queued.response_url)).toMatchObject({ status: 404 });
    expect(await call('GET', queued.status_url)).toMatchObject({
      status: 200,
      body: { status: 'COMPLETED' },
    });
  });

  test('cancel in the queue, while it runs, and too late', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'render_ms', ms: 600_000 });
    const [waiting, running] = [await submit({ prompt }), await submit({ prompt })];
    expect(await call('PUT', waiting.cancel_url)).toEqual({ status: 200, body: { status: 'OK' } });
    await control.post(`jobs/${running.request_id}`, { status: 'running' });
    expect(await call('PUT', running.cancel_url)).toEqual({
      status: 202,
      body: { status: 'CANCELLATION_REQUESTED' },
    });
    expect(await call('PUT', running.cancel_url)).toEqual({
      status: 400,
      body: { status: 'ALREADY_COMPLETED' },
    });
    expect(await call('GET', running.response_url)).toMatchObject({ status: 499 });
    expect(await call('PUT', '/fal-ai/veo3/requests/none/cancel')).toEqual({
      status: 404,
      body: { status: 'NOT_FOUND' },
    });
  });
});

describe('webhooks', () => {
  const keys = async () => {
    const answer = await fetch(`${simulator.url}/.well-known/jwks.json`);
    return ((await answer.json()) as { keys: JsonWebKey[] }).keys;
  };
  /** The recipe of fal's documentation. */
  const verifies = (key: JsonWebKey, { headers, body }: Receiver['received'][number]) => {
    const names = ['request-id', 'user-id', 'timestamp'].map((name) => headers[`x-fal-webhook-${name}`]);
    const message = [...names, createHash('sha256').update(body).digest('hex')].join('\n');
    const signature = Buffer.from(headers['x-fal-webhook-signature'] ?? '', 'hex');
    return verify(null, Buffer.from(message), createPublicKey({ key, format: 'jwk' }), signature);
  };
  const hook = () => `/fal-ai/veo3?fal_webhook=${encodeURIComponent(`${receiver.url}/hook`)}`;
  const received = (count: number) =>
    eventually(() => (receiver.received.length >= count ? receiver.received : undefined));

  test('signed with the key of the set, for the account, about the request', async () => {
    const { request_id: id } = await submit({ prompt: newPrompt() }, hook());
    const [got] = await received(1);
    expect(got?.headers).toMatchObject({
      'x-fal-webhook-request-id': id,
      'x-fal-webhook-user-id': FAL_SIMULATOR_USER,
      'x-fal-webhook-timestamp': expect.stringMatching(/^\d{10}$/) as string,
    });
    const [key] = await keys();
    expect(key).toMatchObject({ kty: 'OKP', crv: 'Ed25519' });
    expect(verifies(key ?? {}, got!)).toBe(true);
    expect(verifies(key ?? {}, { ...got!, body: Buffer.from(`${got!.body.toString()} `) })).toBe(false);
  });

  test('rotation: the first secret signs, the set has all', async () => {
    await control.post('secrets', { secrets: ['new', 'old'] });
    await submit({ prompt: newPrompt() }, hook());
    const [got] = await received(1);
    expect((await keys()).map((key) => verifies(key, got!))).toEqual([true, false]);
  });

  test('a forged one fits no key; a failure is an ERROR with what the model said', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_forged' }, { kind: 'moderated' });
    await submit({ prompt }, hook());
    const all = await received(2);
    const [key] = await keys();
    const real = all.find((delivery) => verifies(key ?? {}, delivery));
    const [forged, ...others] = all.filter((delivery) => !verifies(key ?? {}, delivery));
    expect(others).toEqual([]);
    expect(JSON.parse(forged!.body.toString())).toMatchObject({ status: 'OK' });
    expect(JSON.parse(real!.body.toString())).toMatchObject({
      status: 'ERROR',
      error: 'Unexpected status code: 422',
      payload: { detail: [{ type: 'content_policy_violation' }] },
    });
  });
});
