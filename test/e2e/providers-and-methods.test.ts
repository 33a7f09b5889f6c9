import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, untilEnd, uniquePrompt, uploadInput } from '../support/generations.ts';
import { eventually } from '../simulators/control.ts';
import { png } from '../storage/media.ts';
import { providerCatalogue } from '../support/provider-models.ts';
import { providersEndToEnd } from './providers.testsuite.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: providerCatalogue });
});
afterAll(() => room?.stop());

providersEndToEnd(() => room, ['fal', 'kling', 'runway', 'bfl', 'openaivideos', 'luma', 'veo', 'minimax']);

/** The job with this prompt, once its simulator has read what it was given. */
const readJob = (provider: string, prompt: string) =>
  eventually(async () => {
    const [job] = (await room.sims[provider]!.journal(prompt)).jobs;
    return job?.input ? job : undefined;
  });

describe('methods', () => {
  it.concurrent('text-to-image, three of which one is no picture: delivered in part, charged for two', async () => {
    const prompt = uniquePrompt('images');
    await room.sims['fal']!.fault(prompt, { kind: 'link_wrong_type', times: 1 });
    const asked = await ask(room, 'images', prompt, { input: { prompt, count: 3 } });
    await untilEnd(room, asked.id);
    const facts = { state: 'succeeded', jobs: 1, provider: 'fal', price: 15, captured: 10 };
    const generation = await expectPromise(room, asked, {
      ...facts,
      outputs: ['stored', 'stored', 'invalid'],
    });
    expect(generation).toMatchObject({ delivery: 'partial', error: null });
    expect(generation.outputs.map(({ media_type }) => media_type)).toEqual(['image/png', 'image/png']);
  });

  it.concurrent('text-to-image, three that come late at the links that they keep: all delivered', async () => {
    const prompt = uniquePrompt('late images');
    // Each is dead at first, then one of them again.
    await room.sims['fal']!.fault(prompt, { kind: 'link_404', times: 4 });
    const asked = await ask(room, 'images', prompt, { input: { prompt, count: 3 } });
    await untilEnd(room, asked.id);
    const facts = { state: 'succeeded', jobs: 1, provider: 'fal', price: 15 };
    const outputs = ['stored', 'stored', 'stored'] as const;
    expect(await expectPromise(room, asked, { ...facts, outputs: [...outputs] })).toMatchObject({
      delivery: 'stored',
      error: null,
    });
  });

  it.concurrent('text-to-image, three: three files that differ', async () => {
    const prompt = uniquePrompt('three images');
    const asked = await ask(room, 'images', prompt, { input: { prompt, count: 3 } });
    await untilEnd(room, asked.id);
    const facts = { state: 'succeeded', jobs: 1, provider: 'fal', price: 15 };
    const generation = await expectPromise(room, asked, {
      ...facts,
      outputs: ['stored', 'stored', 'stored'],
    });
    expect(generation.delivery).toBe('stored');
    expect(new Set(generation.outputs.map(({ sha256 }) => sha256)).size).toBe(3);
  });

  it.concurrent('image-to-video', async () => {
    const prompt = uniquePrompt('animate');
    const image_url = await uploadInput(room, png(640, 360));
    const asked = await ask(room, 'animate', prompt, { input: { prompt, image_url, duration_seconds: 4 } });
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'kling' });
    expect(generation.outputs).toMatchObject([{ media_type: 'video/mp4', duration_seconds: 4 }]);
    const [job] = (await room.sims['kling']!.journal(prompt)).jobs;
    expect(JSON.parse(job?.request_body ?? '')).toMatchObject({
      contents: expect.arrayContaining([
        { type: 'first_frame', url: expect.stringContaining(`/files/inputs/${image_url}?`) as string },
      ]),
    });
  });

  it.concurrent('image-to-video as a form: the provider reads the image from our link', async () => {
    const prompt = uniquePrompt('relayed\r\n--form-- "quoted" é😊');
    const image_url = await uploadInput(room, png(640, 360));
    const input = { prompt, image_url, duration_seconds: 4 };
    const asked = await ask(room, 'animate-relayed', prompt, { input });
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'openaivideos' });
    const job = await readJob('openaivideos', prompt);
    expect(job.input).toMatchObject({ source: 'link', answer: 200, media_type: 'image/png' });
    expect(job.request_body).toContain(`name="input_reference[image_url]"`);
  });

  it.concurrent('text-to-image from an image: an edit, told by a callback with a secret of its own', async () => {
    const prompt = uniquePrompt('edit');
    const image_url = await uploadInput(room, png(640, 360));
    const asked = await ask(room, 'edit', prompt, { input: { prompt, image_url } });
    await untilEnd(room, asked.id);
    const facts = { state: 'succeeded', jobs: 1, provider: 'bfl', price: 5 };
    const generation = await expectPromise(room, asked, facts);
    expect(generation.outputs).toMatchObject([{ media_type: 'image/png' }]);
    const submission = await room.db.prisma.submission.findFirstOrThrow({
      where: { generationId: asked.id },
    });
    expect(submission.finishedBy).toBe('callback');
    const [job] = (await room.sims['bfl']!.journal(prompt)).jobs;
    const sent = JSON.parse(job?.request_body ?? '') as Readonly<Record<string, string>>;
    expect(sent['input_image']).toContain(`/files/inputs/${image_url}?`);
    expect(sent['webhook_secret']).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(JSON.stringify(submission.request)).not.toContain(sent['webhook_secret']);
  });

  it.concurrent('image-to-video at a provider that takes no links: the bytes go, with PUBLIC_URL too', async () => {
    const prompt = uniquePrompt('animate inline');
    const picture = png(640, 360);
    const image_url = await uploadInput(room, picture);
    const asked = await ask(room, 'animate-inline', prompt, { input: { prompt, image_url } });
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'veo' });
    const job = await readJob('veo', prompt);
    expect(job.input).toMatchObject({ source: 'inline', media_type: 'image/png', bytes: picture.length });
    const submission = await room.db.prisma.submission.findFirstOrThrow({
      where: { generationId: asked.id },
    });
    expect(JSON.stringify(submission.request)).not.toContain(picture.toString('base64').slice(0, 40));
  });

  it.concurrent('text-to-speech', async () => {
    const text = uniquePrompt('speech');
    const asked = await ask(room, 'speech', text, { input: { text } });
    await untilEnd(room, asked.id);
    const facts = { state: 'succeeded', jobs: 1, provider: 'runway', price: 5 };
    const generation = await expectPromise(room, asked, facts);
    expect(generation.outputs).toMatchObject([{ media_type: 'audio/wav' }]);
  });
});
