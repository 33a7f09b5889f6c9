import RunwayML, { APIError } from '@runwayml/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { runwaySimulator } from '../../src/simulators/runway.ts';
import { Control, eventually } from '../simulators/control.ts';

// Runway's own client against our simulator: what it sends is taken, what it is answered fits its types.
const API_KEY = 'key_of_runway';

let simulator: RunningSimulator;
let control: Control;
let client: RunwayML;

beforeAll(async () => {
  simulator = await startSimulator(runwaySimulator, { apiKeys: [API_KEY], renderMs: 40 });
  control = new Control(simulator.url);
  client = new RunwayML({ apiKey: API_KEY, baseURL: simulator.url, maxRetries: 0 });
});
afterAll(() => simulator.close());

const ended = (id: string) =>
  eventually(async () => {
    const task = await client.tasks.retrieve(id);
    return ['PENDING', 'THROTTLED', 'RUNNING'].includes(task.status) ? undefined : task;
  });
const video = (promptText: string) =>
  client.textToVideo.create({ model: 'gen4.5', promptText, ratio: '1280:720', duration: 5 });
const statusOf = async (call: Promise<unknown>) => {
  const error: unknown = await call.then(
    () => null,
    (caught: unknown) => caught,
  );
  if (!(error instanceof APIError)) throw new Error('not an error of the API');
  return error.status as number;
};

describe('@runwayml/sdk', () => {
  test('submit, poll, fetch the output', async () => {
    const { id, estimatedCost } = await video('sdk life');
    expect(estimatedCost).toEqual({ credits: 25 });
    const task = await ended(id);
    if (task.status !== 'SUCCEEDED') throw new Error(task.status);
    expect(task).toMatchObject({ id, cost: { credits: 25 } });
    expect(Date.parse(task.createdAt)).toBeGreaterThan(0);
    const [url = ''] = task.output;
    expect((await fetch(url)).headers.get('content-type')).toBe('video/mp4');
  });

  test('its own waiting ends', async () => {
    const { id } = await video('sdk waiting');
    await ended(id);
    const task = await client.tasks.retrieve(id).waitForTaskOutput();
    expect(task).toMatchObject({ id, status: 'SUCCEEDED' });
  });

  test('all four methods, and a failure with its code', async () => {
    await control.fault('sdk moderated', { kind: 'moderated' });
    const made = [
      await client.imageToVideo.create({
        model: 'gen4_turbo',
        promptImage: 'https://h.example/a.png',
        promptText: 'sdk moderated',
        ratio: '1280:720',
      }),
      await client.textToImage.create({ model: 'gen4_image', promptText: 'sdk image', ratio: '1024:1024' }),
      await client.textToSpeech.create({
        model: 'eleven_multilingual_v2',
        promptText: 'sdk speech',
        voice: { type: 'runway-preset', presetId: 'Maya' },
      }),
    ];
    const tasks = await Promise.all(made.map(({ id }) => ended(id)));
    expect(tasks.map(({ status }) => status)).toEqual(['FAILED', 'SUCCEEDED', 'SUCCEEDED']);
    expect(tasks[0]).toMatchObject({ failureCode: 'SAFETY.INPUT.TEXT', cost: { credits: 25 } });
  });

  test('a cancel, after which the task is gone', async () => {
    await control.fault('sdk cancel', { kind: 'render_ms', ms: 600_000 });
    const { id } = await video('sdk cancel');
    expect(await client.tasks.retrieve(id)).toMatchObject({
      status: 'PENDING',
      estimatedCost: { credits: 25 },
    });
    expect(await client.tasks.delete(id)).toBeFalsy();
    expect(await statusOf(client.tasks.retrieve(id))).toBe(404);
    const [job] = (await control.journal('sdk cancel')).jobs;
    expect(job).toMatchObject({ stopped: true, deleted: true, renders_done: 0 });
  });

  test('its DELETE destroys a finished task: why our adapter looks before', async () => {
    const { id } = await video('sdk destroyed');
    const task = await ended(id);
    if (task.status !== 'SUCCEEDED') throw new Error(task.status);
    await client.tasks.delete(id);
    expect((await fetch(task.output[0] ?? '')).status).toBe(404);
  });

  test('errors are of its classes', async () => {
    const bad = { model: 'gen4.5', promptText: 'sdk bad', ratio: '16:9', duration: 5 } as never;
    expect(await statusOf(client.textToVideo.create(bad))).toBe(400);
    expect(await statusOf(client.withOptions({ apiKey: 'wrong' }).tasks.retrieve('x'))).toBe(401);
    expect(await statusOf(client.withOptions({ runwayVersion: '2020-01-01' }).tasks.retrieve('x'))).toBe(400);
    await control.fault('sdk quota', { kind: 'status_429' });
    expect(await statusOf(video('sdk quota'))).toBe(429);
  });

  test('trap 1: it sends a paid POST again by itself', async () => {
    await control.fault('sdk sent again', { kind: 'status_5xx_after_accept' });
    const eager = client.withOptions({ maxRetries: 1 });
    const call = eager.textToVideo.create({
      model: 'gen4.5',
      promptText: 'sdk sent again',
      ratio: '1280:720',
      duration: 5,
    });
    expect(await statusOf(call)).toBe(502);
    expect((await control.journal('sdk sent again')).jobs).toHaveLength(2);
  });
});
