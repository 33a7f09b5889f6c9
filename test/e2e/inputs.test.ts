import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, get, untilEnd, uniquePrompt, uploadInput } from '../support/generations.ts';
import { providerCatalogue } from '../support/provider-models.ts';
import { png } from '../storage/media.ts';

const PICTURE = png(640, 360);
const SHA256 = createHash('sha256').update(PICTURE).digest('hex');

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: providerCatalogue });
});
afterAll(() => room?.stop());

/** What the provider's simulator read of the file that it was given. */
const readBy = (provider: string, prompt: string) =>
  eventually(async () => (await room.sims[provider]!.journal(prompt)).jobs[0]?.input ?? undefined);

const animate = (model: string, prompt: string, image_url: string) =>
  ask(room, model, prompt, { input: { prompt, image_url, duration_seconds: 4 } });

/** In order: the last one replaces the worker. */
describe('an image on its way to the provider', () => {
  it('uploaded, by a signed link that the provider really fetches', async () => {
    const prompt = uniquePrompt('upload');
    const inputId = await uploadInput(room, PICTURE);
    const asked = await animate('animate', prompt, inputId);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'kling' });
    expect(generation.input).toMatchObject({ image_url: inputId });
    expect(await readBy('kling', prompt)).toEqual({
      source: 'link',
      answer: 200,
      media_type: 'image/png',
      bytes: PICTURE.length,
      sha256: SHA256,
    });
  });

  it('by its URL: the output of one generation is the input of the next, byte for byte', async () => {
    const first = uniquePrompt('image');
    const made = await ask(room, 'images', first, { input: { prompt: first, count: 1 } });
    await untilEnd(room, made.id);
    const [job] = (await room.sims['fal']!.journal(first)).jobs;
    const url = `${room.sims['fal']!.url}/files/${job?.id}/0.png`;
    const prompt = uniquePrompt('chained');
    const asked = await animate('animate', prompt, url);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'kling' });
    expect(generation.input).toMatchObject({ image_url: url });
    const { sha256 } = (await get(room, made.id)).outputs[0]!;
    expect(await readBy('kling', prompt)).toMatchObject({ source: 'link', answer: 200, sha256 });
  });

  it('inline where nobody can reach us: a provider that takes no file so is passed over', async () => {
    await room.running.worker.stop(5_000);
    await room.startWorker(undefined, { PUBLIC_URL: undefined });
    const prompt = uniquePrompt('inline');
    const asked = await animate('animate-either', prompt, await uploadInput(room, PICTURE));
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1, provider: 'runway' });
    expect(await readBy('runway', prompt)).toMatchObject({ source: 'inline', sha256: SHA256 });
    expect((await room.sims['kling']!.journal(prompt)).requests).toEqual([]);
    const submissions = await room.db.prisma.submission.findMany({
      where: { generationId: asked.id },
      orderBy: { ordinal: 'asc' },
    });
    expect(submissions).toMatchObject([
      { provider: 'kling', state: 'refused', problem: 'input_not_deliverable' },
      { provider: 'runway', state: 'accepted' },
    ]);
  });
});
