import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { veoSimulator } from '../../src/simulators/veo.ts';
import { Control, eventually } from './control.ts';
import { startReceiver } from './receiver.ts';

// Plain HTTP; that Google's own SDK works against it is in test/providers/sdk-veo.test.ts.
const MODEL = 'veo-3.1-generate-preview';
const KEY = { 'x-goog-api-key': 'sim-key' };

let simulator: RunningSimulator;
let control: Control;

beforeAll(async () => {
  simulator = await startSimulator(veoSimulator, { renderMs: 20 });
  control = new Control(simulator.url);
});
afterAll(() => simulator.close());

interface Operation {
  readonly name: string;
  readonly done?: boolean;
  readonly error?: { readonly code: number };
  readonly response?: {
    readonly generateVideoResponse: {
      readonly generatedSamples?: readonly { readonly video: { readonly uri: string } }[];
    };
  };
}

const call = async (path: string, body?: unknown, headers: Record<string, string> = KEY) => {
  const answer = await fetch(`${simulator.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const submit = (body: unknown, headers?: Record<string, string>) =>
  call(`/v1beta/models/${MODEL}:predictLongRunning`, body, headers);
const nameOf = async (body: unknown) => (await submit(body)).body['name'] as string;
const ended = (name: string) =>
  eventually(async () => {
    const operation = (await call(`/v1beta/${name}`)).body as unknown as Operation;
    return operation.done === true ? operation : undefined;
  }, 60_000);

test('an operation has the model in its name, and no state until it is done', async () => {
  await control.fault('waits', { kind: 'stuck' });
  const { status, body } = await submit({ instances: [{ prompt: 'waits' }] });
  expect([status, Object.keys(body)]).toEqual([200, ['name']]);
  expect(body['name']).toMatch(new RegExp(`^models/${MODEL}/operations/[0-9a-f]{12}$`));
  expect((await call(`/v1beta/${body['name'] as string}`)).body).toEqual({ name: body['name'] });
  // By the control routes, its slashes are encoded.
  await control.post(`jobs/${encodeURIComponent(body['name'] as string)}`, { status: 'cancelled' });
  expect(await ended(body['name'] as string)).toMatchObject({ error: { code: 1 } });
});

test('a file is for its key, once for each sample, until it is over', async () => {
  const name = await nameOf({ instances: [{ prompt: 'files' }], parameters: { sampleCount: 2 } });
  const { response } = await ended(name);
  const uris = response?.generateVideoResponse.generatedSamples?.map(({ video }) => video.uri) ?? [];
  expect(new Set(uris).size).toBe(2);
  for (const uri of uris) {
    expect(uri).toMatch(/\/v1beta\/files\/[0-9a-z]+:download\?alt=media$/);
    expect((await fetch(uri)).status).toBe(400);
    expect((await fetch(`${uri}&key=sim-key`)).status).toBe(400);
    const answer = await fetch(uri, { headers: KEY });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
  }
  const past = Math.floor(Date.now() / 1_000) - 1;
  await control.post(`jobs/${encodeURIComponent(name)}`, { expires_at: past });
  expect((await fetch(uris[0] ?? '', { headers: KEY })).status).toBe(404);
  // The operation is shown on.
  expect(await ended(name)).toMatchObject({ name, done: true });
});

type Refused = readonly [name: string, body: object];
const REFUSED: readonly Refused[] = [
  [
    'inlineData',
    { instances: [{ prompt: 'x', image: { inlineData: { mimeType: 'image/png', data: 'AAAA' } } }] },
  ],
  ['a link to an image', { instances: [{ prompt: 'x', image: { fileUri: 'https://h.example/a.png' } }] }],
  [
    'a data: URI',
    { instances: [{ image: { bytesBase64Encoded: 'data:image/png;base64,AAAA', mimeType: 'image/png' } }] },
  ],
  ['a seed', { instances: [{ prompt: 'x' }], parameters: { seed: 1 } }],
  ['sound', { instances: [{ prompt: 'x' }], parameters: { generateAudio: true } }],
  ['seconds as text', { instances: [{ prompt: 'x' }], parameters: { durationSeconds: '8' } }],
  ...[3, 5, 7, 9].map((durationSeconds): Refused => [
    `${durationSeconds} seconds`,
    { instances: [{ prompt: 'x' }], parameters: { durationSeconds } },
  ]),
  ...['1080p', '4k'].flatMap((resolution) =>
    [4, 6].map((durationSeconds): Refused => [
      `${resolution} of ${durationSeconds} seconds`,
      { instances: [{ prompt: 'x' }], parameters: { resolution, durationSeconds } },
    ]),
  ),
  ['two instances', { instances: [{ prompt: 'x' }, { prompt: 'y' }] }],
  ['an empty instance', { instances: [{}] }],
  ['no instance', {}],
];
test.each(REFUSED)('refused as Google refuses it: %s', async (_name, body) => {
  expect(await submit(body)).toMatchObject({
    status: 400,
    body: { error: { code: 400, status: 'INVALID_ARGUMENT' } },
  });
});

test.each([
  { durationSeconds: 4 },
  { durationSeconds: 6, resolution: '720p' },
  { durationSeconds: 8, resolution: '1080p' },
  { durationSeconds: 8, resolution: '4k' },
  { resolution: '1080p' },
])('taken as Google takes it: %o', async (parameters) => {
  expect((await submit({ instances: [{ prompt: 'x' }], parameters })).status).toBe(200);
});

test('a key that is not known is 400, with its reason', async () => {
  const { status, body } = await submit({ instances: [{ prompt: 'x' }] }, { 'x-goog-api-key': 'other' });
  expect(status).toBe(400);
  expect(body).toMatchObject({ error: { details: [{ reason: 'API_KEY_INVALID' }] } });
});

test('too many requests tell when to come again in the body, too', async () => {
  await control.fault('too many', { kind: 'status_429', retry_after: 9 });
  expect(await submit({ instances: [{ prompt: 'too many' }] })).toMatchObject({
    status: 429,
    body: { error: { status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '9s' }] } },
  });
});

test('a webhook of the request replaces that of the project, and has its metadata', async () => {
  const receiver = await startReceiver();
  try {
    const uri = `${receiver.url}/project`;
    expect((await call('/v1/webhooks', { uri, subscribed_events: ['batch.failed'] })).status).toBe(400);
    await call('/v1/webhooks', { uri, subscribed_events: ['video.generated'] });
    const webhookConfig = { uris: [`${receiver.url}/request`], userMetadata: { group: 'g1' } };
    const name = await nameOf({ instances: [{ prompt: 'called' }], webhookConfig });
    const first = await eventually(() => receiver.received[0], 60_000);
    expect(first.path).toBe('/request');
    expect(JSON.parse(first.body.toString())).toMatchObject({
      type: 'video.generated',
      data: { id: name },
      user_metadata: { group: 'g1' },
    });
    expect(first.headers['webhook-signature']).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    await nameOf({ instances: [{ prompt: 'called again' }] });
    const second = await eventually(() => receiver.received[1], 60_000);
    expect(second.path).toBe('/project');
    expect(second.headers['webhook-signature']).toMatch(/^v1,/);
  } finally {
    await receiver.close();
  }
});
