import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { lumaSimulator } from '../../src/simulators/luma.ts';
import { png } from '../storage/media.ts';
import { Control, eventually } from './control.ts';

// Plain HTTP; Luma's own Python client against it is in `npm run interop`.
interface Generation {
  readonly id: string;
  readonly state: string;
  readonly output: readonly { readonly type: string; readonly url: string }[];
}

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(lumaSimulator, { renderMs: 30 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

const HEADERS = { authorization: 'Bearer sim-key', 'content-type': 'application/json' };
const call = async (method: string, path: string, body?: unknown, headers = HEADERS) => {
  const answer = await fetch(`${simulator.url}/v1/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.headers.get('x-api-version')).toBe('2026-04-01');
  return { status: answer.status, body: await answer.json() };
};
const create = async (body: object) => (await call('POST', 'generations', body)).body as Generation;
const completed = (id: string) =>
  eventually(async () => {
    const generation = (await call('GET', `generations/${id}`)).body as Generation;
    return generation.state === 'completed' ? generation : undefined;
  });
const RAY = { prompt: 'x', model: 'ray-3.2', type: 'video' };

test.each([
  ['an unknown model', { prompt: 'x', model: 'super-model-v9' }, 400, 'Unknown model: super-model-v9'],
  [
    'a type of another model',
    { prompt: 'x', type: 'video' },
    400,
    "Type 'video' is not supported for model 'uni-1'",
  ],
  [
    'a shape of another model',
    { prompt: 'x', aspect_ratio: '4:3' },
    400,
    "Invalid aspect_ratio '4:3'. Valid: 1:1, 1:2, 1:3, 16:9, 2:1, 2:3, 3:1, 3:2, 9:16",
  ],
  ['no text', { prompt: '' }, 400, 'Prompt must be between 1 and 6000 characters'],
  [
    'a reference given twice',
    {
      prompt: 'x',
      image_ref: [{ url: 'https://h.example/a.png', data: 'iVBORw0K', media_type: 'image/png' }],
    },
    400,
    "image_ref[0]: provide either 'url' or 'data', not both",
  ],
  [
    'base64 without its type',
    { prompt: 'x', image_ref: [{ data: 'iVBORw0K' }] },
    400,
    "image_ref[0]: 'media_type' is required with 'data'",
  ],
  [
    'a source of an edit',
    { prompt: 'x', source: { url: 'https://h.example/a.png' } },
    400,
    "source is only valid for type 'image_edit'",
  ],
  [
    'ten seconds from a first frame',
    { ...RAY, video: { duration: '10s', start_frame: { url: 'https://h.example/a.png' } } },
    400,
    'duration 10s is not supported with start_frame, end_frame, loop or hdr',
  ],
])('refuses %s', async (_name, body, status, detail) => {
  expect(await call('POST', 'generations', body)).toEqual({ status, body: { detail } });
});

test('refuses what its client could not send: a callback URL, a length in numbers', async () => {
  const callback = { ...RAY, callback_url: 'https://h.example/hook' };
  expect((await call('POST', 'generations', callback)).status).toBe(400);
  expect((await call('POST', 'generations', { ...RAY, video: { duration: 5 } })).status).toBe(400);
});

test('a wrong key, an unknown generation, no cancel, no list', async () => {
  expect(await call('GET', 'generations/x', undefined, { ...HEADERS, authorization: 'Bearer x' })).toEqual({
    status: 401,
    body: { detail: 'Missing or invalid API key' },
  });
  expect(await call('GET', 'generations/00000000-0000-0000-0000-000000000000')).toEqual({
    status: 404,
    body: { detail: 'Generation not found' },
  });
  const { id } = await create(RAY);
  expect((await call('DELETE', `generations/${id}`)).status).toBe(404);
  expect((await call('GET', 'generations')).status).toBe(404);
});

test('a generation is shown with all members, and its links are fresh at each look', async () => {
  const made = await create({ ...RAY, video: null, aspect_ratio: null });
  expect(made).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    type: 'video',
    state: 'queued',
    model: 'ray-3.2',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    output: [],
    failure_reason: null,
    failure_code: null,
  });
  const [first] = (await completed(made.id)).output;
  await control.post(`jobs/${made.id}`, { expires_at: Math.floor(Date.now() / 1_000) - 1 });
  expect((await fetch(first?.url ?? '')).status).toBe(404);
  const [fresh] = (await completed(made.id)).output;
  expect((await fetch(fresh?.url ?? '')).headers.get('content-type')).toBe('video/mp4');
});

test('an image without a model is made by uni-1', async () => {
  const made = await create({ prompt: 'iced coffee', aspect_ratio: '3:2' });
  expect(made).toMatchObject({ model: 'uni-1', type: 'image' });
  const [output] = (await completed(made.id)).output;
  expect(output?.type).toBe('image');
  expect((await fetch(output?.url ?? '')).headers.get('content-type')).toBe('image/png');
});

test('it takes the file of a first frame that stands in the submit', async () => {
  const bytes = png(640, 360);
  const start_frame = { data: bytes.toString('base64'), media_type: 'image/png' };
  await create({ ...RAY, prompt: 'an inline frame', video: { start_frame } });
  const input = await eventually(
    async () => (await control.journal('an inline frame')).jobs[0]?.input ?? undefined,
  );
  expect(input).toMatchObject({ source: 'inline', media_type: 'image/png', bytes: bytes.length });
});
