import { randomBytes } from 'node:crypto';
import OpenAI, { APIError, toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { openaivideosSimulator, videosSimulator } from '../../src/simulators/openaivideos.ts';
import { Control, eventually } from '../simulators/control.ts';
import { startReceiver, type Receiver } from '../simulators/receiver.ts';

const API_KEY = 'sk-of-openai';
const SECRET = `whsec_${Buffer.from('secret of the account').toString('base64')}`;

/** OpenAI's own client (7.59.0) before the simulator: what it sends is taken, what it is answered fits its types. */
describe('the openai SDK against the simulator', () => {
  let simulator: RunningSimulator;
  let control: Control;
  let receiver: Receiver;
  let client: OpenAI;
  let made = 0;
  const newPrompt = () => `sdk ${++made}.`;

  beforeAll(async () => {
    simulator = await startSimulator(openaivideosSimulator, {
      apiKeys: [API_KEY],
      renderMs: 40,
      webhookSecrets: [SECRET],
    });
    control = new Control(simulator.url);
    client = new OpenAI({
      apiKey: API_KEY,
      baseURL: `${simulator.url}/v1`,
      maxRetries: 0,
      webhookSecret: SECRET,
    });
  });
  afterAll(() => simulator.close());
  beforeEach(async () => {
    receiver = await startReceiver();
    return () => receiver.close();
  });

  const create = (prompt: string) =>
    client.videos.create({ prompt, model: 'sora-2', seconds: '8', size: '1280x720' });
  const ended = (id: string) =>
    eventually(async () => {
      const video = await client.videos.retrieve(id);
      return video.status === 'queued' || video.status === 'in_progress' ? undefined : video;
    });
  const failureOf = async (call: Promise<unknown>): Promise<InstanceType<typeof APIError>> => {
    const error: unknown = await call.then(
      () => null,
      (caught: unknown) => caught,
    );
    if (!(error instanceof APIError)) throw new Error('not an error of the API');
    return error;
  };
  const inputOf = (prompt: string) =>
    eventually(async () => (await control.journal(prompt)).jobs[0]?.input ?? undefined);

  test('submit without a file, poll, fetch the content', async () => {
    const prompt = newPrompt();
    const created = await create(prompt);
    expect(created).toMatchObject({
      object: 'video',
      status: 'queued',
      progress: 0,
      model: 'sora-2',
      prompt,
      seconds: '8',
      size: '1280x720',
      completed_at: null,
      expires_at: null,
      error: null,
    });
    const video = await ended(created.id);
    expect(video).toMatchObject({ id: created.id, status: 'completed', progress: 100, error: null });
    expect(video.completed_at).toBeGreaterThanOrEqual(created.created_at);
    expect(video.expires_at).toBeGreaterThan(video.completed_at ?? Infinity);
    const content = await client.videos.downloadContent(created.id, { variant: 'video' });
    expect(content.headers.get('content-type')).toBe('video/mp4');
    expect((await content.arrayBuffer()).byteLength).toBeGreaterThan(100);
    const { jobs } = await control.journal(prompt);
    expect(jobs.map(({ submits, downloads }) => [submits, downloads])).toEqual([[1, 1]]);
  });

  test('with a file: its bytes and type arrive, and all fields after it', async () => {
    const prompt = newPrompt();
    const bytes = randomBytes(200_000);
    const created = await client.videos.create({
      input_reference: await toFile(bytes, 'odd "name".png', { type: 'image/png' }),
      prompt,
      seconds: '4',
    });
    expect(created).toMatchObject({ status: 'queued', prompt, seconds: '4', size: '720x1280' });
    expect(await inputOf(prompt)).toMatchObject({
      source: 'inline',
      media_type: 'image/png',
      bytes: 200_000,
    });
  });

  test('with a file as a data: URI, which the SDK writes in brackets', async () => {
    const prompt = newPrompt();
    const image = Buffer.from('not a real png');
    await client.videos.create({
      prompt,
      input_reference: { image_url: `data:image/png;base64,${image.toString('base64')}` },
    });
    expect(await inputOf(prompt)).toMatchObject({
      source: 'inline',
      media_type: 'image/png',
      bytes: image.length,
    });
  });

  test('failed, and moderated', async () => {
    const [failing, moderated] = [newPrompt(), newPrompt()];
    await control.fault(failing, { kind: 'fail', code: 'gpu_lost' });
    await control.fault(moderated, { kind: 'moderated' });
    expect(await ended((await create(failing)).id)).toMatchObject({
      status: 'failed',
      error: { code: 'gpu_lost' },
      completed_at: null,
    });
    const { id } = await create(moderated);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: { code: 'moderation_blocked' } });
    expect((await failureOf(client.videos.downloadContent(id))).status).toBe(404);
  });

  test('list, page by page, newest first or last', async () => {
    const ids: string[] = [];
    for (const prompt of Array.from({ length: 5 }, newPrompt)) ids.push((await create(prompt)).id);
    const listed: string[] = [];
    for await (const video of client.videos.list({ limit: 2 })) listed.push(video.id);
    expect(listed.slice(0, 5)).toEqual(ids.toReversed());
    expect(listed).toEqual((await control.journal()).jobs.map(({ id }) => id));
    const ascending: string[] = [];
    for await (const video of client.videos.list({ limit: 100, order: 'asc' })) ascending.push(video.id);
    expect(ascending).toEqual(listed.toReversed());
    expect((await failureOf(Promise.resolve(client.videos.list({ after: 'video_none' })))).status).toBe(404);
  });

  test('delete takes a finished video with its content, and no other', async () => {
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'stuck' });
    const { id: open } = await create(prompt);
    expect((await failureOf(client.videos.delete(open))).status).toBe(400);
    expect(await client.videos.retrieve(open)).toMatchObject({ id: open });
    const { id } = await create(newPrompt());
    await ended(id);
    expect(await client.videos.delete(id)).toEqual({ id, object: 'video.deleted', deleted: true });
    expect((await failureOf(client.videos.retrieve(id))).status).toBe(404);
    expect((await failureOf(client.videos.downloadContent(id))).status).toBe(404);
  });

  test('what it announces passes the SDK’s check, and nothing forged does', async () => {
    const { id } = await create(newPrompt());
    await ended(id);
    await control.post('callback', { job_id: id, url: `${receiver.url}/account` });
    await control.post('callback', {
      job_id: id,
      url: `${receiver.url}/account`,
      secrets: ['whsec_Zm9yZ2Vk'],
    });
    const [good, forged] = await eventually(() =>
      receiver.received.length === 2 ? receiver.received : undefined,
    );
    const body = good?.body.toString() ?? '';
    const headers = good?.headers as Record<string, string>;
    // `video.*` is not among the types of its union; the check and the shape are the same.
    const event: unknown = await client.webhooks.unwrap(body, headers);
    expect(event).toMatchObject({ object: 'event', type: 'video.completed', data: { id } });
    expect((event as { id: string }).id).toBe(headers['webhook-id']);
    await expect(client.webhooks.unwrap(`${body} `, headers)).rejects.toThrow(/signature/i);
    await expect(
      client.webhooks.unwrap(forged?.body.toString() ?? '', forged?.headers as Record<string, string>),
    ).rejects.toThrow(/signature/i);
  });

  test('errors are told in the words of the API', async () => {
    const wrong = new OpenAI({ apiKey: 'wrong', baseURL: `${simulator.url}/v1`, maxRetries: 0 });
    expect(await failureOf(wrong.videos.retrieve('video_x'))).toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
    const seconds = await failureOf(client.videos.create({ prompt: newPrompt(), seconds: '5' as '4' }));
    expect(seconds).toMatchObject({ status: 400, code: 'invalid_value', type: 'invalid_request_error' });
    expect(seconds.message).toContain("'seconds'");
    const prompt = newPrompt();
    await control.fault(prompt, { kind: 'refuse_content' });
    expect(await failureOf(create(prompt))).toMatchObject({ status: 400, code: 'moderation_blocked' });
    expect((await control.journal(prompt)).jobs).toEqual([]);
  });
});

describe('the openai SDK against an aggregator', () => {
  test('extra members pass through it', async () => {
    const simulator = await startSimulator(videosSimulator('aggregator'), {
      apiKeys: [API_KEY],
      renderMs: 40,
    });
    try {
      const client = new OpenAI({ apiKey: API_KEY, baseURL: `${simulator.url}/v1`, maxRetries: 0 });
      const { id } = await client.videos.create({ prompt: 'sdk at an aggregator', seconds: '5' as '4' });
      const video = await eventually(async () => {
        const seen = await client.videos.retrieve(id);
        return seen.status === 'completed' ? seen : undefined;
      });
      const { video_url: url } = video as typeof video & { video_url: string };
      expect((await fetch(url)).headers.get('content-type')).toBe('video/mp4');
    } finally {
      await simulator.close();
    }
  });
});
