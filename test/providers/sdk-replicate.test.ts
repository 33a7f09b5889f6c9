import Replicate, { validateWebhook } from 'replicate';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { replicateSimulator } from '../../src/simulators/replicate.ts';
import { Control, eventually } from '../simulators/control.ts';
import { startReceiver, type Receiver } from '../simulators/receiver.ts';

/** Replicate's own SDK as the client of its simulator: the simulator is not written to fit our adapter only. */
describe('the replicate SDK against the simulator', () => {
  let simulator: RunningSimulator;
  let control: Control;
  let receiver: Receiver;
  let client: Replicate;
  let made = 0;
  const newPrompt = () => `sdk ${++made}.`;
  const version = '9dcd'.repeat(16);

  beforeAll(async () => {
    simulator = await startSimulator(replicateSimulator, { apiKeys: ['r8_key'], renderMs: 40 });
    control = new Control(simulator.url);
    client = new Replicate({ auth: 'r8_key', baseUrl: `${simulator.url}/v1`, useFileOutput: false });
  });
  afterAll(() => simulator.close());
  beforeEach(async () => {
    receiver = await startReceiver();
    return () => receiver.close();
  });

  test('submit and poll to the output', async () => {
    const created = await client.predictions.create({ version, input: { prompt: newPrompt() } });
    expect(created).toMatchObject({ status: 'starting', output: null, data_removed: false, version });
    const done = await client.wait(created, { interval: 10 });
    expect(done).toMatchObject({
      id: created.id,
      status: 'succeeded',
      logs: expect.stringContaining('100%') as string,
    });
    const file = await fetch(String(done.output));
    expect(file.headers.get('content-type')).toBe('video/mp4');
    expect(done.metrics?.predict_time).toBeGreaterThanOrEqual(0);
  });

  test('run with a model of many outputs', async () => {
    const input = { prompt: newPrompt(), num_outputs: 2 };
    const output = await client.run('black-forest-labs/flux-schnell', {
      input,
      wait: { mode: 'poll', interval: 10 },
    });
    expect(output).toHaveLength(2);
  });

  test('a failed one is thrown with its error', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'fail', code: 'gpu_lost' });
    const created = await client.predictions.create({ model: 'owner/name', input: { prompt } });
    await expect(client.wait(created, { interval: 10 })).rejects.toThrow(/Prediction failed: .*gpu_lost/);
  });

  test('cancel', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const created = await client.predictions.create({ model: 'owner/name', input: { prompt } });
    expect(await client.predictions.cancel(created.id)).toMatchObject({ id: created.id, status: 'canceled' });
    expect(await client.predictions.get(created.id)).toMatchObject({ status: 'canceled' });
    expect((await control.journal(prompt)).jobs[0]).toMatchObject({ stopped: true, renders_done: 0 });
  });

  test('its list shows the webhook, page by page', async () => {
    const webhook = `${receiver.url}/hook?gen=42`;
    const prompts = Array.from({ length: 101 }, newPrompt);
    for (const prompt of prompts) {
      await client.predictions.create({ model: 'owner/name', input: { prompt }, webhook });
    }
    const pages: { id: string; webhook?: string }[][] = [];
    for await (const page of client.paginate(() => client.predictions.list())) pages.push(page);
    expect(pages[0]).toHaveLength(100);
    expect(
      pages
        .flat()
        .slice(0, 101)
        .every((prediction) => prediction.webhook === webhook),
    ).toBe(true);
    expect(pages.flat().map(({ id }) => id)).toEqual((await control.journal()).jobs.map(({ id }) => id));
  });

  test('its webhooks pass the check of the SDK with the secret of the account', async () => {
    const created = await client.predictions.create({
      model: 'owner/name',
      input: { prompt: newPrompt() },
      webhook: `${receiver.url}/hook`,
      webhook_events_filter: ['start', 'completed'],
    });
    const arrived = await eventually(() => (receiver.received.length === 2 ? receiver.received : undefined));
    const statusOf = (body: Buffer) => (JSON.parse(body.toString()) as { status: string }).status;
    // Each has a connection of its own: one may overtake the other.
    const received = arrived.toSorted((a, b) => statusOf(a.body).localeCompare(statusOf(b.body)));
    const secret = await client.webhooks.default.secret.get();
    const bodies = received.map(({ body }) => body.toString());
    expect(received.map(({ body }) => statusOf(body))).toEqual(['processing', 'succeeded']);
    expect(JSON.parse(bodies[1] ?? '')).toMatchObject({ id: created.id });
    for (const [n, { headers }] of received.entries()) {
      const request = {
        id: headers['webhook-id'] ?? '',
        timestamp: headers['webhook-timestamp'] ?? '',
        signature: headers['webhook-signature'] ?? '',
        body: bodies[n] ?? '',
        secret: secret.key,
      };
      expect(await validateWebhook(request)).toBe(true);
      expect(await validateWebhook({ ...request, body: `${request.body} ` })).toBe(false);
    }
  });

  test('an error is told in the words of the API', async () => {
    const wrong = new Replicate({ auth: 'wrong', baseUrl: `${simulator.url}/v1` });
    await expect(wrong.predictions.get('x')).rejects.toThrow(/401 .*Unauthenticated/);
    await expect(client.predictions.create({ version, input: {} })).rejects.toThrow(/422 .*input.prompt/);
  });
});
