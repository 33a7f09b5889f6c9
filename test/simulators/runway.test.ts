import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { runwaySimulator } from '../../src/simulators/runway.ts';
import { Control, eventually } from './control.ts';

// Plain HTTP; that Runway's own SDK works against it is in test/providers/sdk-runway.test.ts.
interface Task {
  readonly id: string;
  readonly status: string;
  readonly output?: readonly string[];
}

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(runwaySimulator, { renderMs: 30 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

const HEADERS = {
  authorization: 'Bearer sim-key',
  'content-type': 'application/json',
  'x-runway-version': '2024-11-06',
};
const call = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = HEADERS,
) => {
  const answer = await fetch(`${simulator.url}/v1/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as unknown };
};
const create = async (promptText: string) => {
  const body = { model: 'hailuo3', promptText };
  return ((await call('POST', 'text_to_video', body)).body as { id: string }).id;
};
const look = async (id: string) => (await call('GET', `tasks/${id}`)).body as Task;
const succeeded = (id: string) =>
  eventually(async () => {
    const task = await look(id);
    return task.status === 'SUCCEEDED' ? task : undefined;
  });

test.each([
  ['no version', 'GET', 'tasks/x', undefined, { ...HEADERS, 'x-runway-version': '' }, 400],
  ['a wrong key', 'GET', 'tasks/x', undefined, { ...HEADERS, authorization: 'Bearer x' }, 401],
  ['an unknown task', 'GET', 'tasks/x', undefined, HEADERS, 404],
  ['an unknown task to delete', 'DELETE', 'tasks/x', undefined, HEADERS, 404],
  ['an unknown endpoint', 'POST', 'text_to_song', {}, HEADERS, 404],
  ['no model', 'POST', 'text_to_video', { promptText: 'x' }, HEADERS, 400],
  ['no prompt', 'POST', 'text_to_video', { model: 'hailuo3' }, HEADERS, 400],
  ['no image', 'POST', 'image_to_video', { model: 'hailuo3' }, HEADERS, 400],
  [
    'no ratio where one is needed',
    'POST',
    'text_to_image',
    { model: 'gen4_image', promptText: 'x' },
    HEADERS,
    400,
  ],
  [
    'a voice that is a name',
    'POST',
    'text_to_speech',
    { model: 'eleven_v3', promptText: 'x', voice: 'Maya' },
    HEADERS,
    400,
  ],
  ['another content type', 'POST', 'text_to_video', {}, { ...HEADERS, 'content-type': 'text/plain' }, 415],
])('%s', async (_name, method, path, body, headers, status) => {
  const answer = await call(method, path, body, headers);
  expect(answer).toMatchObject({ status, body: { error: expect.any(String) as unknown } });
});

test('a bad body names its issues', async () => {
  const body = { model: 'gen4.5', promptText: 'x', ratio: '16:9', duration: 5 };
  expect((await call('POST', 'text_to_video', body)).body).toEqual({
    error: 'Validation of body failed',
    issues: [{ code: 'invalid_type', message: 'ratio: expected a size in pixels', path: [] }],
    docUrl: 'https://docs.dev.runwayml.com/api',
  });
});

test('links are fresh at each look, however old the task is', async () => {
  const id = await create('fresh links');
  const [url = ''] = (await succeeded(id)).output ?? [];
  await control.post(`jobs/${id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
  expect((await fetch(url)).status).toBe(404);
  const [fresh = ''] = (await look(id)).output ?? [];
  expect((await fetch(fresh)).status).toBe(200);
});

test('several outputs', async () => {
  const body = { model: 'muse_image', promptText: 'four images', outputCount: 4 };
  const { id } = (await call('POST', 'text_to_image', body)).body as { id: string };
  const { output = [] } = await succeeded(id);
  expect(new Set(output).size).toBe(4);
  expect((await fetch(output[3] ?? '')).headers.get('content-type')).toBe('image/png');
});

test('DELETE stops an open task before its render, and destroys a finished one', async () => {
  await control.fault('to be stopped', { kind: 'render_ms', ms: 600_000 });
  const open = await create('to be stopped');
  expect(await call('DELETE', `tasks/${open}`)).toEqual({ status: 204, body: null });
  expect((await call('GET', `tasks/${open}`)).status).toBe(404);

  const finished = await create('to be destroyed');
  await succeeded(finished);
  expect((await call('DELETE', `tasks/${finished}`)).status).toBe(204);
  expect((await call('GET', `tasks/${finished}`)).status).toBe(404);
  const { jobs } = await control.journal('to be');
  expect(
    jobs.map(({ id, deleted, stopped, renders_done: renders }) => ({ id, deleted, stopped, renders })),
  ).toEqual([
    { id: finished, deleted: true, stopped: false, renders: 1 },
    { id: open, deleted: true, stopped: true, renders: 0 },
  ]);
});

test('a task waits as THROTTLED when it is told to', async () => {
  await control.fault('over the limit', { kind: 'unknown_status', status: 'THROTTLED' });
  expect(await look(await create('over the limit'))).toMatchObject({ status: 'THROTTLED' });
});
