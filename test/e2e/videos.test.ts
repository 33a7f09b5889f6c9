/** The official npm client of the OpenAI API as it is, with our address and key, against a whole Darkroom. */
import OpenAI, { toFile } from 'openai';
import type { Video } from 'openai/resources/videos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { expectPromise, get, uniquePrompt } from '../support/generations.ts';
import { providerCatalogue } from '../support/provider-models.ts';

const PICTURE = png(640, 360);

let room: Darkroom;
let proxy: FaultProxy;
let client: OpenAI;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: providerCatalogue });
  proxy = await startFaultProxy(room.apiUrl);
  client = new OpenAI({ apiKey: room.key, baseURL: `${room.apiUrl}/v1` });
});
afterAll(async () => {
  await proxy?.close();
  await room?.stop();
});

/** As a client of that API waits: until it is neither queued nor in progress. */
const poll = (id: string): Promise<Video> =>
  eventually(async () => {
    const video = await client.videos.retrieve(id);
    return video.status === 'queued' || video.status === 'in_progress' ? undefined : video;
  }, 90_000);

/** Names, or the error itself, of what a call ended with. */
const failureOf = (call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
  call.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: InstanceType<typeof OpenAI.APIError>) => error,
  );

describe('videos of the official client', () => {
  it('create, poll, download and delete', async () => {
    const prompt = uniquePrompt('from text');
    const created = await client.videos.create({ model: 'infro', prompt, seconds: '4' });
    expect(created).toMatchObject({
      object: 'video',
      status: 'queued',
      progress: 0,
      seconds: '4',
      prompt,
      model: 'infro',
    });
    const done = await poll(created.id);
    expect(done).toMatchObject({ id: created.id, status: 'completed', progress: 100, error: null });
    expect(done.completed_at).toBeGreaterThanOrEqual(done.created_at);
    expect(done.expires_at).toBeGreaterThan(done.completed_at!);
    await expectPromise(room, { id: created.id, prompt }, { state: 'succeeded', jobs: 1 });
    const { outputs } = await get(room, created.id);
    const content = await client.videos.downloadContent(created.id);
    expect(content.headers.get('content-type')).toBe('video/mp4');
    const bytes = Buffer.from(await content.arrayBuffer());
    expect(bytes.length).toBe(outputs[0]!.bytes);
    expect(await client.videos.delete(created.id)).toEqual({
      id: created.id,
      object: 'video.deleted',
      deleted: true,
    });
    expect(await failureOf(client.videos.retrieve(created.id))).toBeInstanceOf(OpenAI.NotFoundError);
  });

  it('a file goes to the provider, byte for byte', async () => {
    const prompt = uniquePrompt('from an image');
    const created = await client.videos.create({
      model: 'animate',
      prompt,
      seconds: '4',
      input_reference: await toFile(PICTURE, 'boat.png', { type: 'image/png' }),
    });
    expect(await poll(created.id)).toMatchObject({ status: 'completed' });
    // The simulator reads it in its own time.
    const input = await eventually(
      async () => (await room.sims['kling']!.journal(prompt)).jobs[0]?.input ?? undefined,
    );
    expect(input).toMatchObject({ media_type: 'image/png', bytes: PICTURE.length });
    const url = `data:image/png;base64,${PICTURE.toString('base64')}`;
    const inline = await client.videos.create({
      model: 'animate',
      prompt,
      input_reference: { image_url: url },
    });
    expect((await poll(inline.id)).status).toBe('completed');
  });

  it('a failed one says why', async () => {
    const prompt = uniquePrompt('moderated');
    await room.sim.fault(prompt, { kind: 'moderated' });
    const created = await client.videos.create({ model: 'infro', prompt, seconds: '4' });
    const failed = await poll(created.id);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'content_rejected' } });
    const error = await failureOf(client.videos.downloadContent(created.id));
    expect([error.status, error.code]).toEqual([404, 'output_not_found']);
  });

  it('pages follow each other by themselves', async () => {
    const prompts = Array.from({ length: 5 }, (_, i) => uniquePrompt(`page ${i}`));
    const made: string[] = [];
    for (const prompt of prompts) {
      made.push((await client.videos.create({ model: 'infro', prompt, seconds: '4' })).id);
    }
    const listed: string[] = [];
    for await (const video of client.videos.list({ limit: 2, order: 'asc' })) listed.push(video.id);
    expect(listed.slice(-5)).toEqual(made);
    const newest = await client.videos.list({ limit: 3 });
    expect(newest.data.map(({ id }) => id)).toEqual([...made].reverse().slice(0, 3));
    expect(newest.hasNextPage()).toBe(true);
    expect((await newest.getNextPage()).data[0]?.id).toBe(made[1]);
    await Promise.all(made.map(poll));
  });

  it('an answer that was lost is asked for again, and is the same video', async () => {
    for (const file of [false, true]) {
      const prompt = uniquePrompt('lost answer');
      let left = 2;
      proxy.use(({ method }) => {
        if (method !== 'POST' || left === 0) return undefined;
        left -= 1;
        return { kind: 'lose_answer' };
      });
      const before = proxy.seen.length;
      const behind = new OpenAI({ apiKey: room.key, baseURL: `${proxy.endpoint}/v1` });
      const created = await behind.videos.create({
        prompt,
        seconds: '4',
        ...(file
          ? { model: 'animate', input_reference: await toFile(PICTURE, 'boat.png') }
          : { model: 'infro' }),
      });
      expect(proxy.seen.slice(before).map(({ method, url }) => `${method} ${url}`)).toEqual(
        Array.from({ length: 3 }, () => 'POST /v1/videos'),
      );
      const rows = await room.db.prisma.generation.findMany({
        where: { tenantId: room.tenantId, input: { path: ['prompt'], equals: prompt } },
        select: { id: true },
      });
      expect(rows).toEqual([{ id: created.id }]);
      expect((await poll(created.id)).status).toBe('completed');
      const provider = file ? 'kling' : 'infro';
      expect((await room.sims[provider]!.journal(prompt)).jobs).toHaveLength(1);
    }
  });

  it('two of the same by a key of one’s own', async () => {
    const wish = { model: 'infro', prompt: uniquePrompt('twice'), seconds: '4' } as const;
    const once = await client.videos.create(wish);
    expect((await client.videos.create(wish)).id).toBe(once.id);
    const another = await client.videos.create(wish, { headers: { 'Idempotency-Key': 'another-of-these' } });
    expect(another.id).not.toBe(once.id);
    await Promise.all([once, another].map(({ id }) => poll(id)));
  });

  it('errors are of its classes, with code, field and request id, and are not tried again in vain', async () => {
    proxy.use(() => undefined);
    const behind = new OpenAI({ apiKey: room.key, baseURL: `${proxy.endpoint}/v1` });
    const stranger = new OpenAI({ apiKey: 'dk_wrong', baseURL: `${proxy.endpoint}/v1` });
    const prompt = uniquePrompt('refused');
    const poor = { headers: { 'Darkroom-Account': 'nobody' } };
    const cases: [() => Promise<unknown>, abstract new (...args: never) => Error, string, string | null][] = [
      [
        () => behind.videos.create({ prompt, model: 'sora-2' }),
        OpenAI.BadRequestError,
        'unknown_model',
        'model',
      ],
      [
        () => behind.videos.create({ prompt, model: 'infro', size: '1280x720' }),
        OpenAI.BadRequestError,
        'invalid_request',
        'size',
      ],
      [
        () => stranger.videos.create({ prompt, model: 'infro' }),
        OpenAI.AuthenticationError,
        'api_key_invalid',
        null,
      ],
      [
        () => behind.videos.create({ prompt, model: 'infro' }, poor),
        OpenAI.ConflictError,
        'unknown_account',
        'Darkroom-Account',
      ],
      [() => behind.videos.retrieve('video_123'), OpenAI.NotFoundError, 'video_not_found', null],
      [() => behind.videos.remix('video_123', { prompt }), OpenAI.NotFoundError, 'not_found', null],
    ];
    const before = proxy.seen.length;
    for (const [call, kind, code, param] of cases) {
      const error = await failureOf(call());
      expect(error).toBeInstanceOf(kind);
      expect([error.code, error.param]).toEqual([code, param]);
      expect(error.requestID).toMatch(/^req_/);
      expect(error.message.length).toBeGreaterThan(20);
    }
    const asked = proxy.seen.length;
    expect(asked - before).toBe(cases.length);
    await room.sim.fault(prompt, { kind: 'stuck' });
    const waiting = await behind.videos.create({ prompt, model: 'infro', seconds: '4' });
    const early = await failureOf(behind.videos.delete(waiting.id));
    expect([early.status, early.code]).toEqual([409, 'not_terminal']);
    expect(proxy.seen.length).toBe(asked + 2);
    const job = await eventually(async () => (await room.sim.journal(prompt)).jobs[0]);
    await room.sim.post(`jobs/${job.id}`, { status: 'succeeded' });
    await poll(waiting.id);
  });
});
