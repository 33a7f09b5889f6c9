import { createFalClient, type FalClient, type QueueStatus } from '@fal-ai/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { falSimulator } from '../../src/simulators/fal.ts';
import { Control, eventually } from '../simulators/control.ts';
import { startReceiver } from '../simulators/receiver.ts';

const MODEL = 'fal-ai/flux/schnell';

/** fal's own SDK as the client of its simulator. It knows one host only, so its requests are sent here instead. */
describe('the fal SDK against the simulator', () => {
  let simulator: RunningSimulator;
  let control: Control;
  let client: FalClient;
  let made = 0;
  const newPrompt = () => `sdk ${++made}.`;
  const clientOf = (credentials: string) =>
    createFalClient({
      credentials,
      retry: { maxRetries: 0 },
      fetch: (input, init) => {
        const url = String(input instanceof Request ? input.url : input);
        if (!url.startsWith('https://queue.fal.run/')) throw new Error(`not to the queue: ${url}`);
        return fetch(url.replace('https://queue.fal.run', simulator.url), init);
      },
    });

  beforeAll(async () => {
    simulator = await startSimulator(falSimulator, { apiKeys: ['id:secret'], renderMs: 40 });
    control = new Control(simulator.url);
    client = clientOf('id:secret');
  });
  afterAll(() => simulator.close());

  test('subscribe: submit, poll, result', async () => {
    const seen: QueueStatus['status'][] = [];
    const { data, requestId } = await client.subscribe(MODEL, {
      input: { prompt: newPrompt(), num_images: 2 },
      pollInterval: 5,
      logs: true,
      onQueueUpdate: ({ status }) => void seen.push(status),
    });
    const { images } = data as { images: { url: string; content_type: string }[] };
    expect(images.map(({ content_type: type }) => type)).toEqual(['image/png', 'image/png']);
    expect((await fetch(images[1]?.url ?? '')).status).toBe(200);
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen.at(-1)).toBe('COMPLETED');
    const order = seen.map((status) => ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'].indexOf(status));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('submit answers with the URLs of the app, without its subpath', async () => {
    const queued = await client.queue.submit(MODEL, { input: { prompt: newPrompt() } });
    const url = `${simulator.url}/fal-ai/flux/requests/${queued.request_id}`;
    expect(queued).toMatchObject({
      status: 'IN_QUEUE',
      response_url: url,
      status_url: `${url}/status`,
      cancel_url: `${url}/cancel`,
    });
  });

  test('cancel: what waits is never rendered, what is done is told as such', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const { request_id: requestId } = await client.queue.submit(MODEL, { input: { prompt } });
    await client.queue.cancel(MODEL, { requestId });
    expect(await client.queue.status(MODEL, { requestId })).toMatchObject({
      status: 'COMPLETED',
      error_type: 'client_cancelled',
    });
    expect((await control.journal(prompt)).jobs[0]).toMatchObject({ stopped: true, renders_done: 0 });
    await expect(client.queue.cancel(MODEL, { requestId })).rejects.toMatchObject({
      status: 400,
      body: { status: 'ALREADY_COMPLETED' },
    });
    await expect(client.queue.cancel(MODEL, { requestId: 'none' })).rejects.toMatchObject({ status: 404 });
  });

  test('D2 a refused input is COMPLETED, and an error of validation as result', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'moderated' });
    const { request_id: requestId } = await client.queue.submit(MODEL, { input: { prompt } });
    await client.queue.subscribeToStatus(MODEL, { requestId, pollInterval: 5 });
    await expect(client.queue.result(MODEL, { requestId })).rejects.toMatchObject({
      name: 'ValidationError',
      status: 422,
      fieldErrors: [{ type: 'content_policy_violation' }],
    });
  });

  test('a result asked for too early', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const { request_id: requestId } = await client.queue.submit(MODEL, { input: { prompt } });
    await expect(client.queue.result(MODEL, { requestId })).rejects.toMatchObject({
      body: { detail: 'Request is still in progress' },
    });
  });

  test('webhookUrl is called with what the types of the SDK promise', async () => {
    const receiver = await startReceiver();
    try {
      const webhookUrl = `${receiver.url}/hook?gen=42&x=ä`;
      const { request_id: requestId } = await client.queue.submit(MODEL, {
        input: { prompt: newPrompt() },
        webhookUrl,
      });
      const [got] = await eventually(() => (receiver.received.length > 0 ? receiver.received : undefined));
      expect(got?.path).toBe('/hook?gen=42&x=%C3%A4');
      expect(JSON.parse(got?.body.toString() ?? '')).toMatchObject({
        request_id: requestId,
        status: 'OK',
        payload: {},
      });
    } finally {
      await receiver.close();
    }
  });

  test('a wrong key', async () => {
    const wrong = clientOf('id:other');
    await expect(wrong.queue.submit(MODEL, { input: { prompt: newPrompt() } })).rejects.toMatchObject({
      status: 401,
    });
  });
});
