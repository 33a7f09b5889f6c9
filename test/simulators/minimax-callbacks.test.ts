import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { closeServer } from '../../src/simulators/http.ts';
import { minimaxSimulator } from '../../src/simulators/minimax.ts';
import { Control, eventually } from './control.ts';
import { startReceiver, type Receiver } from './receiver.ts';

// Plain HTTP as MiniMax's create page shows it; our adapter is not used here.
interface Task {
  readonly id: string;
  readonly status: string;
}

let simulator: RunningSimulator;
let receiver: Receiver;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(minimaxSimulator, { renderMs: 30, callbackRetryMs: [10] });
  control = new Control(simulator.url);
  receiver = await startReceiver();
});
afterAll(() => Promise.all([simulator.close(), receiver.close()]));

const headers = { authorization: 'Bearer sim-key', 'content-type': 'application/json' };
async function create(prompt: string, callbackUrl: string, url = simulator.url): Promise<string> {
  const output = { model: 'MiniMax-H3', resolution: '768P', duration: 4, ratio: '16:9' };
  const content = [{ type: 'text', text: prompt }];
  const body = JSON.stringify({ ...output, content, callback_url: callbackUrl });
  const answer = await fetch(`${url}/v2/video_generation`, { method: 'POST', headers, body });
  return ((await answer.json()) as { task_id: string }).task_id;
}
const query = async (id: string) => {
  const answer = await fetch(`${simulator.url}/v2/query/video_generation/${id}`, { headers });
  return ((await answer.json()) as { task: Task }).task;
};
const ended = (id: string) =>
  eventually(async () => {
    const task = await query(id);
    return task.status === 'queued' || task.status === 'running' ? undefined : task;
  });

describe('callbacks: first a challenge', () => {
  const echo = (body: Buffer) => {
    const { challenge } = JSON.parse(body.toString()) as { challenge?: string };
    return challenge === undefined ? '{}' : JSON.stringify({ challenge });
  };
  const at = (path: string) =>
    receiver.received
      .filter((one) => one.path === path)
      .map(({ headers, body }) => ({
        headers,
        body: JSON.parse(body.toString()) as { challenge?: string; task?: Task },
      }));
  const endAt = (path: string) =>
    eventually(() => at(path).find(({ body }) => body.task?.status === 'succeeded'));
  const announced = (path: string, prompt = path) => create(prompt, `${receiver.url}${path}`);
  beforeEach(() => {
    receiver.reply = echo;
    receiver.answer = () => 200;
  });

  /** What would be sent to a task that has ended has been sent once another one's end has come. */
  async function afterAnotherEnd(id: string, path: string): Promise<void> {
    await ended(id);
    receiver.reply = echo;
    receiver.answer = () => 200;
    await announced(path);
    await endAt(path);
  }

  test('once for a URL; sent back, every change follows as the query shows it, unsigned', async () => {
    const id = await announced('/echoed');
    const { headers, body } = await endAt('/echoed');
    await eventually(() => (at('/echoed').length >= 4 ? true : undefined));
    const [first, ...others] = at('/echoed');
    expect(first?.body).toEqual({ challenge: expect.stringMatching(/^[\x21-\x7e]{1,255}$/) as unknown });
    expect(new Set(others.map(({ body: { task } }) => task?.status))).toEqual(
      new Set(['queued', 'running', 'succeeded']),
    );
    expect(body.task).toEqual(await query(id));
    expect(Object.keys(headers).filter((name) => /sign|webhook/.test(name))).toEqual([]);
    const again = await announced('/echoed', 'the same URL again');
    await eventually(() =>
      at('/echoed').find((one) => one.body.task?.id === again && one.body.task.status === 'succeeded'),
    );
    expect(at('/echoed').filter((one) => one.body.challenge !== undefined)).toHaveLength(1);
  });

  test.each([
    ['not sent back', () => '{}'],
    ['sent back with a change', (body: Buffer) => echo(body).replace(':"', ':"x')],
    ['sent back as bare text', (body: Buffer) => (JSON.parse(echo(body)) as { challenge: string }).challenge],
    ['drowned in an endless answer', (body: Buffer) => echo(body) + ' '.repeat(5_000)],
  ])('%s: nothing is called, at any change', async (name, reply) => {
    receiver.reply = reply;
    const path = `/${encodeURIComponent(name)}`;
    const id = await announced(path);
    await eventually(() => (at(path).length > 0 ? true : undefined));
    await afterAnotherEnd(id, `${path}-next`);
    expect(at(path).map(({ body }) => Object.keys(body))).toEqual([['challenge']]);
    const jobs = (await control.journal(path)).jobs.filter((job) => job.id === id);
    expect(jobs).toMatchObject([{ callbacks: [] }]);
  });

  test.each([
    ['refused', () => 401],
    ['answered by a redirect', () => ({ status: 302, location: '/echoed' })],
    ['not answered in time', () => 'never' as const],
  ])('%s: nothing is called', async (name, answer) => {
    receiver.answer = answer;
    const path = `/${encodeURIComponent(name)}`;
    const id = await announced(path);
    await eventually(() => (at(path).length > 0 ? true : undefined));
    await afterAnotherEnd(id, `${path}-next`);
    expect(at(path).map(({ body }) => Object.keys(body))).toEqual([['challenge']]);
  });

  test('sent back right, but after more than 3 s: nothing is called', async () => {
    const patient = await startSimulator(minimaxSimulator, { renderMs: 30, callbackTimeoutMs: 60_000 });
    const seen: string[] = [];
    let answered = false;
    const slow = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        seen.push(body.toString());
        const late = setTimeout(() => response.end(echo(body)), 4_500);
        response.once('close', () => {
          clearTimeout(late);
          answered = true;
        });
      });
    });
    await new Promise<void>((resolve) => {
      slow.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/late`;
    await create('late', url, patient.url);
    await eventually(() => (answered ? true : undefined));
    await announced('/after-late');
    await endAt('/after-late');
    expect(seen.map((each) => Object.keys(JSON.parse(each) as object))).toEqual([['challenge']]);
    await closeServer(slow);
    await patient.close();
  });

  test('a reset forgets which URLs have passed', async () => {
    await announced('/forgotten');
    await endAt('/forgotten');
    await control.post('reset');
    await announced('/forgotten', 'after the reset');
    await eventually(() =>
      at('/forgotten').filter((one) => 'challenge' in one.body).length === 2 ? true : undefined,
    );
  });

  test('an outsider asks nothing before a forged one', async () => {
    await control.fault('/forged-hook', { kind: 'callback_forged' });
    await announced('/forged-hook');
    await endAt('/forged-hook');
    const forged = await eventually(() => at('/forAAAAAAAA')[0]);
    expect(at('/forAAAAAAAA')).toHaveLength(1);
    expect(forged.body.task).toMatchObject({ status: 'succeeded' });
  });
});
