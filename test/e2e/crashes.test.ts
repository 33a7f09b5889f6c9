import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

/** Runs `scenario` on a worker that kills itself there, then goes on with a healthy one; both end with the test. */
async function crashing(
  crashAt: string,
  scenario: (crashed: Promise<unknown>, next: () => Promise<Child>) => Promise<void>,
): Promise<void> {
  const worker = await room.startWorker(crashAt);
  const healthy: Child[] = [];
  try {
    await scenario(worker.ended, async () => {
      healthy[0] = await room.startWorker();
      return healthy[0];
    });
  } finally {
    await Promise.all([worker, ...healthy].map((child) => child.stop(3_000, 'SIGKILL')));
  }
}

describe('worker killed (-9)', () => {
  it.each([
    'before:load_generation',
    'after:load_generation',
    'before:claim_submission',
    'after:claim_submission',
    'before:record_submission',
    'after:record_submission',
    'before:record_observation',
    'after:record_observation',
    'before:record_output',
    'after:record_output',
    'before:settle',
    'after:settle',
  ])('%s: one job, one capture, the same bytes', async (crashAt) => {
    await crashing(crashAt, async (crashed, next) => {
      const asked = await ask(room, 'by-callback', uniquePrompt(crashAt));
      await crashed;
      await next();
      await untilEnd(room, asked.id, 60_000);
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    });
  });

  it('in the middle of a download: the next worker fetches the whole file', async () => {
    const prompt = uniquePrompt('mid-download');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 300, times: 1 });
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
    const asked = await ask(room, 'by-callback', prompt);
    await eventually(
      async () => ((await room.sim.journal(prompt)).jobs.length > 0 ? true : undefined),
      20_000,
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

describe('API killed (-9)', () => {
  it('IDEM-8 between commit and start: the sweep starts the run, the retry is a replay', async () => {
    const worker = await room.startWorker();
    await room.running.api.stop(0, 'SIGKILL');
    const api = await room.startApi('after:create_generation');
    const prompt = uniquePrompt('commit, then death');
    const body = { model: 'by-callback', input: { prompt, duration_seconds: 2 } };
    await expect(call(room, 'POST', '/v1/generations', body, 'idem-8')).rejects.toThrow();
    await api.ended;
    const again = await room.startApi();
    const replay = await call(room, 'POST', '/v1/generations', body, 'idem-8');
    expect(replay.status).toBe(202);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const asked = { id: replay.body.id, prompt };
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    await Promise.all([worker, again].map((child) => child.stop(3_000, 'SIGKILL')));
  });

  it('C2 right after a callback was committed: the provider repeats it, it is settled once', async () => {
    const worker = await room.startWorker();
    const api = await room.startApi('after:record_callback');
    const prompt = uniquePrompt('callback, then death');
    const asked = await ask(room, 'by-callback', prompt);
    await api.ended;
    const again = await room.startApi();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await get(room, asked.id)).stage).toBe('done');
    await Promise.all([worker, again].map((child) => child.stop(3_000, 'SIGKILL')));
  });
});
