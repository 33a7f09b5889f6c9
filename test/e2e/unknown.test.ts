import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { unknownCatalogue } from '../support/unknown-models.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: unknownCatalogue });
});
afterAll(() => room?.stop());

const submitsOf = async (provider: string, prompt: string) =>
  (await room.sims[provider]!.journal(prompt)).requests.filter(({ method }) => method === 'POST').length;

const submissionsOf = (generationId: string) =>
  room.db.prisma.submission.findMany({ where: { generationId }, orderBy: { ordinal: 'asc' } });

const LOST = ['reset_after_accept', 'status_5xx_after_accept', 'missing_id'] as const;

describe('the answer to a submit is lost', () => {
  it.concurrent.each(
    [
      ['kling', 'its external id finds the job'],
      ['replicate', 'its list or its callback names the job'],
      ['fal', 'only its callback names the job'],
    ].flatMap(([provider = '', how = '']) => LOST.map((kind) => [provider, kind, how] as const)),
  )('%s, %s: sent once, %s', async (provider, kind) => {
    const prompt = uniquePrompt(`${kind} at ${provider}`);
    await room.sims[provider]!.fault(prompt, { kind }, { kind: 'render_ms', ms: 2_000 });
    const asked = await ask(room, `lost-${provider}`, prompt, video(prompt));
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider, state: 'succeeded', jobs: 1 });
    expect(await submitsOf(provider, prompt)).toBe(1);
    const submissions = await submissionsOf(asked.id);
    expect(submissions.map(({ state }) => state)).toEqual(['accepted']);
    expect(submissions[0]?.unknownAt).not.toBeNull();
  });

  it.concurrent('kling never got it: long after the lease the same external id is sent again, one job', async () => {
    const prompt = uniquePrompt('never arrived at kling');
    await room.sims['kling']!.fault(prompt, { kind: 'reset_before_accept', times: 1 });
    const asked = await ask(room, 'kling-fal', prompt, video(prompt));
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider: 'kling', state: 'succeeded', jobs: 1 });
    expect(await submitsOf('kling', prompt)).toBe(2);
    const [submission, ...others] = await submissionsOf(asked.id);
    expect(others).toEqual([]);
    const [job] = (await room.sims['kling']!.journal(prompt)).jobs;
    expect(job?.external_id).toBe(submission?.idempotencyKey);
  });
});

describe('a model with two routes', () => {
  it.concurrent.each([
    ['kling-fal', 'kling', 'fal'],
    ['replicate-fal', 'replicate', 'fal'],
  ])('%s: refused by the first, delivered by the second, charged once', async (model, first, second) => {
    const prompt = uniquePrompt(`refused by ${first}`);
    await room.sims[first]!.fault(prompt, { kind: 'refuse' });
    const asked = await ask(room, model, prompt, video(prompt));
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider: second, state: 'succeeded', jobs: 1 });
    expect((await room.sims[first]!.journal(prompt)).jobs).toEqual([]);
    const submissions = await submissionsOf(asked.id);
    expect(submissions.map(({ provider, state }) => [provider, state])).toEqual([
      [first, 'refused'],
      [second, 'accepted'],
    ]);
  });

  it.concurrent.each([
    // The seconds are the deadline; the first two are asked again before it and refuse then.
    ['infro-aigenway', 'infro', 'aigenway', 2, 15],
    ['kling-fal', 'kling', 'fal', 2, 25],
    ['replicate-fal', 'replicate', 'fal', 1, 15],
  ] as const)(
    '%s: a 4xx after an ambiguous try is no failover, unknown stays unknown',
    async (model, first, second, submits, seconds) => {
      const prompt = uniquePrompt(`4xx after unknown at ${first}`);
      await room.sims[first]!.fault(prompt, { kind: 'reset_before_accept', times: 1 }, { kind: 'refuse' });
      const asked = await ask(room, model, prompt, { ...video(prompt), deadline_seconds: seconds });
      await until(room, asked.id, ({ stage }) => stage === 'submission_unknown');
      expect(await get(room, asked.id)).toMatchObject({ state: 'running', credits: { held: 40 } });
      await untilEnd(room, asked.id, 60_000);
      const facts = { provider: first, state: 'expired', jobs: 0 };
      expect((await expectPromise(room, asked, facts)).error?.code).toBe('submission_unresolved');
      expect(await submitsOf(first, prompt)).toBeGreaterThanOrEqual(submits);
      // With pauses that grow, never in a loop.
      expect(await submitsOf(first, prompt)).toBeLessThanOrEqual(4 * submits);
      expect(await submitsOf(second, prompt)).toBe(0);
      expect((await submissionsOf(asked.id)).map(({ state }) => state)).toEqual(['unknown']);
    },
  );
});
