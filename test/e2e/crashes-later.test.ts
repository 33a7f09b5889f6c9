import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { expectSurvived } from '../support/crashing.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

describe('T2 G3 worker killed (-9), later', () => {
  it.each([
    'before:record_observation',
    'after:record_observation',
    'before:record_output',
    'after:record_output',
    'before:settle',
    'after:settle',
  ])('%s: one job, one capture, the same bytes', (crashAt) => expectSurvived(room, crashAt));

  it('in the middle of a download: the next worker fetches the whole file', async () => {
    const prompt = uniquePrompt('mid-download');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_000, times: 1 });
    const first = await room.startWorker();
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing');
    await first.stop(0, 'SIGKILL');
    const second = await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    await second.stop(3_000, 'SIGKILL');
  });

  it('SIGTERM in the middle of a submit: the submit finishes, one job (H8)', async () => {
    const prompt = uniquePrompt('rolling stop');
    await room.sim.fault(prompt, { kind: 'slow_submit', ms: 1_500 });
    const first = await room.startWorker();
    const asked = await ask(room, 'slow-lease', prompt, { deadline_seconds: 600 });
    await eventually(
      async () => ((await room.sim.journal(prompt)).jobs.length > 0 ? true : undefined),
      90_000,
    );
    const end = await first.stop(60_000, 'SIGTERM');
    expect(end).toEqual({ code: 0, signal: null });
    const row = await room.db.prisma.submission.findFirstOrThrow({ where: { generationId: asked.id } });
    expect(row.state).toBe('accepted');
    const second = await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const posts = (await room.sim.journal(prompt)).requests.filter(({ method }) => method === 'POST');
    expect(posts.length).toBe(1);
    await second.stop(3_000, 'SIGKILL');
  });
});
