import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError, GenerateVideosOperation, GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { veoSimulator } from '../../src/simulators/veo.ts';
import { Control, eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';

// Google's own client against our simulator: what it asks is answered, what it is answered fits its types. The last version
// 2 of it: from 3 on it makes no videos by the Gemini API any more.
const API_KEY = 'AIza-key-of-google';
const MODEL = 'veo-3.1-generate-preview';

const folder = temporaryFolder('sdk-veo');
let simulator: RunningSimulator;
let control: Control;
let client: GoogleGenAI;

beforeAll(async () => {
  // Its download takes the id of a file out of an https link only.
  const publicUrl = 'https://generativelanguage.googleapis.com';
  simulator = await startSimulator(veoSimulator, { apiKeys: [API_KEY], renderMs: 40, publicUrl });
  control = new Control(simulator.url);
  client = new GoogleGenAI({ apiKey: API_KEY, vertexai: false, httpOptions: { baseUrl: simulator.url } });
});
afterAll(async () => {
  await simulator.close();
  await folder.remove();
});

const submit = (
  prompt: string,
  more: { readonly image?: object; readonly config?: object } = {},
): Promise<GenerateVideosOperation> => client.models.generateVideos({ model: MODEL, prompt, ...more });
const ended = (operation: GenerateVideosOperation) =>
  eventually(async () => {
    const now = await client.operations.getVideosOperation({ operation });
    return now.done === true ? now : undefined;
  }, 60_000);
const statusOf = async (call: Promise<unknown>): Promise<number> => {
  const error: unknown = await call.then(
    () => null,
    (caught: unknown) => caught,
  );
  if (!(error instanceof ApiError)) throw new Error('not an error of the API');
  return error.status;
};

describe('@google/genai', () => {
  test('poll, then fetch the video with the key', async () => {
    const started = await submit('sdk life', { config: { durationSeconds: 4 } });
    expect(started.name).toMatch(/^models\/veo-3\.1-generate-preview\/operations\/[0-9a-f]+$/);
    const { name, error, response } = await ended(started);
    expect({ name, error }).toEqual({ name: started.name, error: undefined });
    const [generated] = response?.generatedVideos ?? [];
    if (generated === undefined) throw new Error('no video');
    const downloadPath = join(folder.path, 'life.mp4');
    await client.files.download({ file: generated, downloadPath });
    expect((await readFile(downloadPath)).subarray(4, 8).toString()).toBe('ftyp');
    expect((await control.journal('sdk life')).jobs[0]).toMatchObject({ id: name, downloads: 1 });
  });

  test('an operation that runs has no `done`', async () => {
    await control.fault('sdk runs', { kind: 'stuck' });
    const now = await client.operations.getVideosOperation({
      operation: await submit('sdk runs'),
    });
    expect(now).toMatchObject({ name: expect.stringContaining('/operations/') as string });
    expect([now.done, now.response, now.error]).toEqual([undefined, undefined, undefined]);
  });

  test('filtered: done, no video, a count with reasons', async () => {
    await control.fault('sdk filtered', { kind: 'moderated' });
    const { response, error } = await ended(await submit('sdk filtered'));
    expect(error).toBeUndefined();
    expect(response?.generatedVideos).toBeUndefined();
    expect(response).toMatchObject({ raiMediaFilteredCount: 1 });
    expect(response?.raiMediaFilteredReasons?.[0]).toMatch(/Support codes/);
  });

  test('failed: done, with a number of google.rpc.Code', async () => {
    await control.fault('sdk failed', { kind: 'fail' });
    const { response, error } = await ended(await submit('sdk failed'));
    expect(response).toBeUndefined();
    expect(error).toMatchObject({ code: 13 });
  });

  test('two videos of one image', async () => {
    const picture = png(64, 64);
    const image = { imageBytes: picture.toString('base64'), mimeType: 'image/png' };
    const { response } = await ended(await submit('sdk image', { image, config: { numberOfVideos: 2 } }));
    const files = (response?.generatedVideos ?? []).map(async (file, n) => {
      const downloadPath = join(folder.path, `image-${n}.mp4`);
      await client.files.download({ file, downloadPath });
      return createHash('sha256')
        .update(await readFile(downloadPath))
        .digest('hex');
    });
    expect(new Set(await Promise.all(files)).size).toBe(2);
    const input = await eventually(async () => (await control.journal('sdk image')).jobs[0]?.input, 60_000);
    expect(input).toMatchObject({ source: 'inline', media_type: 'image/png', bytes: picture.length });
  });

  test('errors are of its class', async () => {
    const operation = new GenerateVideosOperation();
    operation.name = `models/${MODEL}/operations/nosuch`;
    const look = (by: GoogleGenAI) => statusOf(by.operations.getVideosOperation({ operation }));
    expect(await look(client)).toBe(404);
    const httpOptions = { baseUrl: simulator.url };
    expect(await look(new GoogleGenAI({ apiKey: 'wrong', vertexai: false, httpOptions }))).toBe(400);
    const downloadPath = join(folder.path, 'never.mp4');
    expect(await statusOf(client.files.download({ file: 'files/00', downloadPath }))).toBe(404);
  });

  test('a webhook of the project, whose secret is shown once', async () => {
    const webhook = await client.webhooks.create({
      uri: 'http://127.0.0.1:9/hook',
      subscribed_events: ['video.generated'],
    });
    expect(webhook).toMatchObject({ uri: 'http://127.0.0.1:9/hook', state: 'enabled' });
    expect(webhook.new_signing_secret).toMatch(/^whsec_/);
    await control.post('reset');
  });
});
