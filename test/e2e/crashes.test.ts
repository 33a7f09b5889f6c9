import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectSurvived } from '../support/crashing.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, untilEnd, uniquePrompt } from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

describe('T2 G3 worker killed (-9)', () => {
  it.each([
    'before:load_generation',
    'after:load_generation',
    'before:claim_submission',
    'after:claim_submission',
    'before:record_submission',
    'after:record_submission',
  ])('%s: one job, one capture, the same bytes', (crashAt) => expectSurvived(room, crashAt));
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
