import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { unknownCatalogue } from '../support/unknown-models.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: unknownCatalogue });
});
afterAll(() => room?.stop());

const simOf = (provider: string) => room.sims[provider]!;
const jobOf = (provider: string, { prompt }: { prompt: string }) =>
  eventually(async () => (await simOf(provider).journal(prompt)).jobs[0], 90_000);
const submissionOf = ({ id }: Asked) =>
  room.db.prisma.submission.findFirstOrThrow({ where: { generationId: id }, include: { lateSuccess: true } });
const attached = (asked: Asked) =>
  eventually(async () => {
    const row = await submissionOf(asked);
    return row.providerJobId === null ? undefined : row;
  }, 90_000);
const known = (asked: Asked) =>
  eventually(async () => {
    const row = await submissionOf(asked);
    return row.endedAs === null ? undefined : row;
  }, 90_000);

const costOf = ({ costAmount, costUnit, costFinal }: Awaited<ReturnType<typeof submissionOf>>) =>
  `${String(costAmount)} ${costUnit}${costFinal ? ', final' : ''}`;

/**
 * The answer of the provider is on its way when an operator ends the generation: the row is kept locked from before the
 * answer until after the end, so that the acceptance is recorded by its worker right after it.
 */
async function endedBeforeTheAnswer(provider: string, asked: Asked): Promise<void> {
  await jobOf(provider, asked);
  await room.db.prisma.$transaction(
    async (tx) => {
      await tx.$queryRawUnsafe('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', asked.id);
      await eventually(async () => {
        const [row] = await tx.$queryRawUnsafe<{ over: boolean }[]>(
          `SELECT lease_until < clock_timestamp() AS over FROM submission WHERE generation_id = $1 AND state = 'sending'`,
          asked.id,
        );
        if (row === undefined) throw new Error('its answer was recorded before the lock');
        return row.over ? true : undefined;
      }, 90_000);
      const resolution = { generationId: asked.id, state: 'failed', errorCode: 'provider_unavailable' };
      await tx.$queryRawUnsafe(
        'SELECT resolve_generation($1::jsonb)::text',
        JSON.stringify({ ...resolution, reason: 'not in its console', actor: 'ops' }),
      );
    },
    { maxWait: 30_000, timeout: 90_000 },
  );
}

async function expectNothingChanged(asked: Asked, before: Awaited<ReturnType<typeof get>>, provider: string) {
  expect(await get(room, asked.id)).toEqual(before);
  await expectPromise(room, asked, { provider, state: before.state, jobs: 1 });
}

describe('an acceptance after the end of its generation', () => {
  it.concurrent.each([
    ['infro', 1, 'cancelled', /^0\.2 USD$/],
    ['replicate', 1, 'cancelled', /^\d+(\.\d+)? seconds$/],
    // It offers no cancel, so the render goes on.
    ['kling', 0, 'succeeded', /^2\.4 units, final$/],
  ] as const)(
    '%s: attached late, cancelled %i times, ends as %s, its cost booked; nothing changes for the tenant',
    async (provider, cancels, endedAs, cost) => {
      const prompt = uniquePrompt(`late at ${provider}`);
      await simOf(provider).fault(
        prompt,
        { kind: 'slow_submit', ms: 8_000 },
        { kind: 'stuck' },
        { kind: 'no_callbacks' },
      );
      const asked = await ask(room, `late-${provider}`, prompt, video(prompt));
      await endedBeforeTheAnswer(provider, asked);
      const before = await get(room, asked.id);
      expect(before).toMatchObject({ state: 'failed', error: { code: 'provider_unavailable' } });
      const row = await attached(asked);
      const job = await jobOf(provider, asked);
      expect(row).toMatchObject({ state: 'abandoned', providerJobId: job.id });
      if (endedAs === 'succeeded') await simOf(provider).post(`jobs/${job.id}`, { status: 'succeeded' });
      const end = await known(asked);
      expect(end.endedAs).toBe(endedAs);
      expect(end.lateSuccess === null).toBe(endedAs !== 'succeeded');
      expect(costOf(end)).toMatch(cost);
      expect((await jobOf(provider, asked)).cancels).toBe(cancels);
      await expectNothingChanged(asked, before, provider);
    },
  );
});

describe.concurrent('a callback that names the job after the end of an unresolved submission', () => {
  it.concurrent.each([
    ['infro', 'still renders', 1, 'cancelled'],
    ['infro', 'has finished', 0, 'succeeded'],
    ['fal', 'still renders', 1, 'cancelled'],
    ['fal', 'has finished', 0, 'succeeded'],
  ] as const)(
    '%s, it %s: attached late, cancelled %i times, %s, nothing changes for the tenant',
    async (provider, _how, cancels, endedAs) => {
      const prompt = uniquePrompt(`late callback at ${provider}, ${endedAs}`);
      const renders = endedAs === 'cancelled';
      await simOf(provider).fault(
        prompt,
        { kind: 'reset_after_accept' },
        { kind: 'no_callbacks' },
        { kind: 'render_ms', ms: renders ? 120_000 : 300 },
      );
      const asked = await ask(room, `late-${provider}`, prompt, { ...video(prompt), deadline_seconds: 12 });
      const before = await untilEnd(room, asked.id, 60_000);
      expect(before).toMatchObject({ state: 'expired', error: { code: 'submission_unresolved' } });
      const job = await jobOf(provider, asked);
      await simOf(provider).post('callback', { job_id: job.id });
      expect(await attached(asked)).toMatchObject({ state: 'abandoned', providerJobId: job.id });
      const end = await known(asked);
      expect(end.endedAs).toBe(endedAs);
      expect(end.lateSuccess === null).toBe(renders);
      expect((await jobOf(provider, asked)).cancels).toBe(cancels);
      await expectNothingChanged(asked, before, provider);
    },
  );
});

describe.concurrent('a job that outlives the deadline', () => {
  it.concurrent('D6 D7 kling offers no cancel: expired and released; its success is listed, its cost booked', async () => {
    const prompt = uniquePrompt('outlives the deadline');
    await simOf('kling').fault(prompt, { kind: 'stuck' }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'late-kling', prompt, { ...video(prompt), deadline_seconds: 12 });
    await until(room, asked.id, ({ stage }) => stage === 'waiting' || stage === 'done');
    const before = await untilEnd(room, asked.id, 60_000);
    expect(before).toMatchObject({ state: 'expired', error: { code: 'deadline_exceeded' } });
    const job = await jobOf('kling', asked);
    await simOf('kling').post(`jobs/${job.id}`, { status: 'succeeded' });
    const end = await known(asked);
    expect(end).toMatchObject({ endedAs: 'succeeded', lateSuccess: { generationId: asked.id } });
    expect(costOf(end)).toBe('2.4 units, final');
    await expectNothingChanged(asked, before, 'kling');
    expect((await jobOf('kling', asked)).downloads).toBe(0);
  });
});
