import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  expectInvariants,
  expectPromise,
  get,
  until,
  untilEnd,
  uniquePrompt,
  withoutLinks,
} from '../support/generations.ts';
import { historyOf } from '../support/history.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

async function jobOf(prompt: string): Promise<string> {
  return eventually(async () => (await room.sim.journal(prompt)).jobs[0]?.id, 90_000);
}

/** Ends a job that is stuck, with its callback. */
const finish = (job: string) => room.sim.post(`jobs/${job}`, { status: 'succeeded' });

const inbox = (id: string) =>
  room.db.prisma.callback.findMany({ where: { submission: { generationId: id } } });

describe('a callback', () => {
  it('WHI-14 before the submit answer: kept, then the job is settled once', async () => {
    const prompt = uniquePrompt('early');
    await room.sim.fault(prompt, { kind: 'callback_before_answer' });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await inbox(asked.id)).length).toBe(1);
  });

  it('WHI-14 on the account-level route before the job id is known: waits, is adopted when it is', async () => {
    const prompt = uniquePrompt('unmatched');
    await room.sim.fault(prompt, { kind: 'slow_submit', ms: 5_000 }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'slow-lease', prompt);
    const job = await jobOf(prompt);
    await room.sim.post('callback', {
      job_id: job,
      url: `${room.apiUrl}/callbacks/infro`,
      type: 'job.succeeded',
      event_id: `evt_${job}`,
    });
    const [waiting] = await room.db.prisma.callback.findMany({ where: { providerJobId: job } });
    expect(waiting?.submissionId).toBeNull();
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await inbox(asked.id)).length).toBe(1);
    const submission = await room.db.prisma.submission.findFirst({ where: { generationId: asked.id } });
    expect(submission?.finishedBy).toBe('callback');
  });

  it('finds the job of a submit whose answer was lost', async () => {
    const prompt = uniquePrompt('lost answer, callback tells');
    await room.sim.fault(prompt, { kind: 'reset_after_accept' });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('WHI-2 twice: two answers of 200, one row, one capture', async () => {
    const prompt = uniquePrompt('twice');
    await room.sim.fault(prompt, { kind: 'callback_twice' });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await eventually(async () =>
      (await room.sim.journal(prompt)).jobs[0]?.callbacks.length === 2 ? true : undefined,
    );
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await room.sim.journal(prompt)).jobs[0]?.callbacks.map(({ answer }) => answer)).toEqual([
      200, 200,
    ]);
    expect((await inbox(asked.id)).length).toBe(1);
  });

  it('twenty at once, different events: all 200, at most one wake outstanding, one capture', async () => {
    const prompt = uniquePrompt('twenty');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    const job = await jobOf(prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    const sent = Array.from({ length: 20 }, (_, i) =>
      room.sim.post<{ answers: unknown[] }>('callback', {
        job_id: job,
        type: 'job.succeeded',
        event_id: `evt_${job}_${i}`,
      }),
    );
    expect((await Promise.all(sent)).flatMap(({ answers }) => answers)).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
    await finish(job);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const events = await historyOf(room, asked.id);
    const signals = events.filter((event) => event['workflowExecutionSignaledEventAttributes']);
    // One is outstanding at a time; a few more when the run has read the rows in between.
    expect(signals.length).toBeLessThanOrEqual(10);
  });

  it('WHI-15 after the end: 200, recorded, nothing changes', async () => {
    const prompt = uniquePrompt('late');
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    const before = withoutLinks(await get(room, asked.id));
    const job = await jobOf(prompt);
    await room.sim.post('callback', { job_id: job, type: 'job.failed', event_id: 'evt_after_the_end' });
    await eventually(async () => ((await inbox(asked.id)).length === 2 ? true : undefined));
    expect(withoutLinks(await get(room, asked.id))).toEqual(before);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('WHI-1 forged: 401, no row, no effect; the true one still ends it', async () => {
    const prompt = uniquePrompt('forged');
    await room.sim.fault(prompt, { kind: 'callback_forged' }, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    const forged = await eventually(
      async () => (await room.sim.journal(prompt)).jobs[0]?.callbacks.find(({ forged }) => forged),
      90_000,
    );
    expect(forged.answer).toBe(401);
    expect((await inbox(asked.id)).length).toBe(0);
    await finish(await jobOf(prompt));
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await inbox(asked.id)).length).toBe(1);
  });

  it('is only a hint: "succeeded" for a job that still runs changes nothing', async () => {
    const prompt = uniquePrompt('lying');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    const job = await jobOf(prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await room.sim.post('callback', { job_id: job, type: 'job.failed', event_id: 'evt_lie' });
    expect((await inbox(asked.id)).length).toBe(1);
    // Once it is looked at again, the first look has been recorded.
    await eventually(async () => ((await room.sim.journal(prompt)).jobs[0]!.observes > 1 ? true : undefined));
    expect((await get(room, asked.id)).state).toBe('running');
    await finish(job);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('with a token that was made up: 401 without a row', async () => {
    const body = JSON.stringify({ id: 'evt_1', type: 'job.succeeded', created_at: 1, data: { id: 'job_1' } });
    const answer = await fetch(
      `${room.apiUrl}/callbacks/infro/sub_01m8m4zrb8f67bj6v28s9ycs18_1.${'A'.repeat(43)}`,
      { method: 'POST', body },
    );
    expect(answer.status).toBe(401);
    await expectInvariants(room);
  });
});
