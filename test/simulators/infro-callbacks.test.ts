import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { infroSimulator } from '../../src/simulators/infro.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

let simulator: RunningSimulator;
let control: Control;
let receiver: Receiver;
let made = 0;

beforeAll(async () => {
  simulator = await startSimulator(infroSimulator, {
    renderMs: 20,
    webhookSecrets: ['whsec_one'],
    callbackRetryMs: [10, 20],
    callbackTimeoutMs: 1_000,
  });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

beforeEach(async () => {
  const started = await startReceiver();
  receiver = started;
  await control.post('reset');
  return () => started.close();
});

const submit = async (prompt: string) => {
  const answer = await fetch(`${simulator.url}/v1/videos`, {
    method: 'POST',
    headers: { authorization: 'Bearer sim-key', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm-video', prompt, webhook: { url: `${receiver.url}/hook` } }),
  });
  return (await answer.json()) as { id: string; status: string };
};
const newPrompt = () => `callback ${++made}.`;
const receivedAtLeast = (count: number) =>
  eventually(() => (receiver.received.length >= count ? receiver.received : undefined));
const eventOf = (body: Buffer) =>
  JSON.parse(body.toString()) as { id: string; type: string; created_at: number; data: { id: string } };
const signatures = (header: string | undefined) => (header ?? '').split(',').slice(1);
const expectedSignature = (header: string | undefined, body: Buffer, secret: string) => {
  const t = /^t=(\d+),/.exec(header ?? '')?.[1];
  return `v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`;
};

describe('callbacks', () => {
  test('one signed event when a job has ended', async () => {
    const job = await submit(newPrompt());
    const [got] = await receivedAtLeast(1);
    expect(got?.path).toBe('/hook');
    expect(eventOf(got!.body)).toMatchObject({ type: 'job.succeeded', data: { id: job.id } });
    const header = got?.headers['infro-signature'];
    expect(signatures(header)).toEqual([expectedSignature(header, got!.body, 'whsec_one')]);
  });

  test.each([
    ['job.failed', { kind: 'fail' }],
    ['job.failed', { kind: 'moderated' }],
  ] as const)('%s after %o', async (type, fault) => {
    const prompt = newPrompt();
    await control.fault(prompt, fault);
    await submit(prompt);
    const [got] = await receivedAtLeast(1);
    expect(eventOf(got!.body).type).toBe(type);
  });

  test('rotation: one signature per active secret', async () => {
    await control.post('secrets', { secrets: ['whsec_one', 'whsec_two'] });
    await submit(newPrompt());
    const [got] = await receivedAtLeast(1);
    const header = got?.headers['infro-signature'];
    expect(signatures(header)).toEqual(
      ['whsec_one', 'whsec_two'].map((secret) => expectedSignature(header, got!.body, secret)),
    );
  });

  test.each([
    ['500', () => 500],
    ['a redirect, not followed', () => ({ status: 302, location: '/elsewhere' })],
    ['no answer', () => 'never'],
  ] satisfies [string, Receiver['answer']][])(
    'tried again with the same event, to the end of the schedule: %s',
    async (_name, answer) => {
      receiver.answer = answer;
      const prompt = newPrompt();
      await submit(prompt);
      const attempts = await eventually(async () => {
        const [job] = (await control.journal(prompt)).jobs;
        return job?.callbacks.length === 3 ? job.callbacks : undefined;
      });
      expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(new Set(receiver.received.map(({ body }) => eventOf(body).id)).size).toBe(1);
      expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook']);
    },
  );

  test('a second try that is answered ends it', async () => {
    receiver.answer = (delivery) => (delivery === 1 ? 503 : 200);
    const prompt = newPrompt();
    await submit(prompt);
    await receivedAtLeast(2);
    const callbacks = await eventually(async () => {
      const found = (await control.journal(prompt)).jobs[0]?.callbacks;
      return found?.length === 2 ? found : undefined;
    });
    expect(callbacks.map(({ answer }) => answer)).toEqual([503, 200]);
  });

  test('WHI-14 callback_before_answer: delivered before the 202', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_before_answer' });
    const job = await submit(prompt);
    expect(job.status).toBe('queued');
    expect(receiver.received.map(({ body }) => eventOf(body).data.id)).toEqual([job.id]);
    // It has ended before its render began, and tells a start all the same, from which some providers tell a cost.
    const headers = { authorization: 'Bearer sim-key' };
    const shown = await fetch(`${simulator.url}/v1/jobs/${job.id}`, { headers });
    expect(await shown.json()).toMatchObject({
      status: 'succeeded',
      started_at: expect.any(Number) as number,
    });
  });

  test('callback_before_answer with a dead receiver still answers', async () => {
    receiver.answer = () => 'never';
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'callback_before_answer' });
    expect((await submit(prompt)).id).toMatch(/^job_/);
  });

  test('callback_twice, callback_forged, no_callbacks, callback_late', async () => {
    const prompt = newPrompt();
    await control.fault(
      prompt,
      { kind: 'callback_twice' },
      { kind: 'callback_forged' },
      { kind: 'callback_late', ms: 60 },
    );
    await submit(prompt);
    const isReal = ({ headers: { 'infro-signature': header }, body }: Receiver['received'][number]) =>
      signatures(header).includes(expectedSignature(header, body, 'whsec_one'));
    const all = await receivedAtLeast(3);
    const [forged, real] = [all.filter((one) => !isReal(one)), all.filter(isReal)];
    expect(forged.map(({ body }) => eventOf(body).type)).toEqual(['job.succeeded']);
    expect(new Set(real.map(({ body }) => eventOf(body).id)).size).toBe(1);

    const silent = newPrompt();
    await control.fault(silent, { kind: 'no_callbacks' });
    await submit(silent);
    await eventually(async () =>
      (await control.journal(silent)).jobs[0]?.renders_done === 1 ? true : undefined,
    );
    expect((await control.journal(silent)).jobs[0]?.callbacks).toEqual([]);
  });

  test('a crafted one: many at once, late, under any secret, with any header and body', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const { id } = await submit(prompt);
    const many = await control.post<{ event_id: string; answers: number[] }>('callback', {
      job_id: id,
      type: 'job.succeeded',
      times: 10,
      concurrently: true,
    });
    expect(many.answers).toEqual(Array<number>(10).fill(200));
    expect(new Set(receiver.received.map(({ body }) => eventOf(body).id))).toEqual(new Set([many.event_id]));
    receiver.received.length = 0;
    await control.post('callback', { job_id: id, body: '{"a":"\\u001B"}', time_offset_seconds: -301 });
    await control.post('callback', { job_id: id, headers: { 'infro-signature': 't=1,v1=0' } });
    expect(receiver.received[0]?.body.toString()).toBe('{"a":"\\u001B"}');
    const t = Number(/^t=(\d+)/.exec(receiver.received[0]?.headers['infro-signature'] ?? '')?.[1]);
    expect(Date.now() / 1_000 - t).toBeGreaterThan(300);
    expect(receiver.received[1]?.headers['infro-signature']).toBe('t=1,v1=0');
    await expect(control.post('callback', { job_id: 'nothing' })).rejects.toThrow('404');
  });

  test('a state set by hand is announced like any other', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const { id } = await submit(prompt);
    await control.post(`jobs/${id}`, { status: 'cancelled' });
    const [got] = await receivedAtLeast(1);
    expect(eventOf(got!.body)).toMatchObject({ type: 'job.canceled', data: { id } });
  });
});
