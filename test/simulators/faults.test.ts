import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { aigenwaySimulator } from '../../src/simulators/aigenway.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

// Aigenway stands for every protocol here: what the framework does is the same for all.
let simulator: RunningSimulator;
let control: Control;
let receiver: Receiver;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator(aigenwaySimulator, {
    renderMs: 40,
    webhookSecrets: ['secret-1'],
    callbackRetryMs: [],
  });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());
beforeEach(async () => {
  const started = await startReceiver();
  receiver = started;
  return () => started.close();
});

const AUTH = { authorization: 'Bearer sim-key' };
const newPrompt = () => `fault ${++made}.`;
const submit = (prompt: string, over: object = {}) =>
  fetch(`${simulator.url}/v1/generations`, {
    method: 'POST',
    headers: { ...AUTH, 'content-type': 'application/json' },
    body: JSON.stringify({
      provider: 'kling',
      model: 'kling-v2-master',
      method: 'text_to_video',
      params: { prompt, duration: 1 },
      callback_url: `${receiver.url}/hook/0123456789`,
      ...over,
    }),
  });
const newTask = async (prompt: string, over: object = {}) =>
  ((await (await submit(prompt, over)).json()) as { task_id: string }).task_id;
const get = async (id: string) =>
  fetch(`${simulator.url}/v1/tasks/${id}`, { headers: AUTH }).then(async (answer) => ({
    status: answer.status,
    body: (await answer.json()) as {
      success: boolean;
      task?: { status: string; result: { url: string; files: { url: string }[] } | null };
      error?: { code: string };
    },
  }));
const ended = (id: string) =>
  eventually(async () => {
    const { task } = (await get(id)).body;
    return task === undefined || ['PENDING', 'PROCESSING'].includes(task.status) ? undefined : task;
  });
const received = (count: number) =>
  eventually(() => (receiver.received.length >= count ? receiver.received : undefined));
const statusOf = (body: Buffer) => (JSON.parse(body.toString()) as { status: string }).status;
const isSignedWith = (secret: string, got: Receiver['received'][number] | undefined) =>
  got?.headers['x-aggregator-signature'] ===
  `sha256=${createHmac('sha256', secret)
    .update(got?.body ?? '')
    .digest('hex')}`;

describe('callback faults', () => {
  test('callback_twenty: twenty copies of the one event', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_twenty' });
    await newTask(prompt);
    const all = await received(20);
    expect(new Set(all.map(({ body }) => body.toString())).size).toBe(1);
    const callbacks = await eventually(async () => {
      const found = (await control.journal(prompt)).jobs[0]?.callbacks;
      return found?.length === 20 ? found : undefined;
    });
    expect(new Set(callbacks.map(({ event_id }) => event_id)).size).toBe(1);
  });

  test('callback_reordered: after the last event comes an earlier one', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_reordered' });
    await newTask(prompt);
    expect((await received(2)).map(({ body }) => statusOf(body))).toEqual(['succeeded', 'processing']);
  });

  test('callback_rotated, then POST /_sim/secrets for all', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_rotated', secrets: ['secret-2'] });
    await newTask(prompt);
    const [first] = await received(1);
    expect([isSignedWith('secret-1', first), isSignedWith('secret-2', first)]).toEqual([false, true]);
    await control.post('secrets', { secrets: ['secret-3'] });
    await newTask(newPrompt());
    const [, second] = await received(2);
    expect(isSignedWith('secret-3', second)).toBe(true);
    await control.post('secrets', { secrets: ['secret-1'] });
  });

  test('callback_forged: a success under a wrong secret before the true end', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_forged' }, { kind: 'stuck' });
    const id = await newTask(prompt);
    await received(1);
    await control.post(`jobs/${encodeURIComponent(id)}`, { status: 'failed' });
    const [forged, real] = await received(2);
    expect([statusOf(forged!.body), isSignedWith('secret-1', forged)]).toEqual(['succeeded', false]);
    expect([statusOf(real!.body), isSignedWith('secret-1', real)]).toEqual(['failed', true]);
  });

  test('a crafted one names its state in the words of the provider', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const id = await newTask(prompt);
    await control.post('callback', { job_id: id, type: 'succeeded' });
    expect(statusOf((await received(1))[0]!.body)).toBe('succeeded');
  });
});

describe('submit and observe faults in the shape of the provider', () => {
  test.each([
    [{ kind: 'status_429', retry_after: 7 }, 429, 'rate_limit_exceeded'],
    [{ kind: 'status_5xx', status: 502 }, 502, 'internal_error'],
    [{ kind: 'refuse' }, 400, 'invalid_parameters'],
    [{ kind: 'refuse', status: 403, code: 'user_blocked' }, 403, 'user_blocked'],
    [{ kind: 'refuse_content' }, 422, 'content_policy_violation'],
    [{ kind: 'error_in_200' }, 200, 'internal_error'],
  ] as const)('%o', async (fault, status, code) => {
    const prompt = newPrompt();
    await control.fault(prompt, fault);
    const answer = await submit(prompt);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '7' : null);
    expect(await answer.json()).toMatchObject({ success: false, error: { code } });
    expect((await control.journal(prompt)).jobs).toEqual([]);
  });

  test('observe_error_in_200, then as it is', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'observe_error_in_200', times: 1 });
    const id = await newTask(prompt);
    expect(await get(id)).toMatchObject({ status: 200, body: { success: false } });
    expect(await get(id)).toMatchObject({ status: 200, body: { success: true } });
  });

  test('moderated is a state of its own for the journal', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'moderated' });
    expect(await ended(await newTask(prompt))).toMatchObject({
      status: 'FAILED',
      error_code: 'content_policy_violation',
    });
    expect((await control.journal(prompt)).jobs).toMatchObject([{ status: 'moderated', renders_done: 1 }]);
  });
});

describe('files', () => {
  test('only with a key, where the provider wants one', async () => {
    const task = await ended(await newTask(newPrompt()));
    const url = task.result?.url ?? '';
    expect((await fetch(url)).status).toBe(401);
    const answer = await fetch(url, { headers: AUTH });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
  });

  test('an image job makes a PNG', async () => {
    const task = await ended(await newTask(newPrompt(), { method: 'text_to_image' }));
    const answer = await fetch(task.result?.url ?? '', { headers: AUTH });
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 1, 4)).toBe('PNG');
  });
});
