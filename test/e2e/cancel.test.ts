import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  expectPromise,
  get,
  until,
  untilEnd,
  uniquePrompt,
  withoutLinks,
} from '../support/generations.ts';
import { recordHistory } from '../support/history.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

const cancel = (id: string) => call(room, 'DELETE', `/v1/generations/${id}`);

describe('T31 cancel while', () => {
  it('queued behind a capacity refusal: cancelled there and then, no job', async () => {
    const prompt = uniquePrompt('queued');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 30 });
    const asked = await ask(room, 'by-callback', prompt);
    await eventually(
      async () => ((await room.sim.journal(prompt)).requests.length > 0 ? true : undefined),
      90_000,
    );
    await until(room, asked.id, ({ stage }) => stage === 'queued');
    const answer = await cancel(asked.id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      state: 'cancelled',
      cancellation: { requested_by: 'tenant', outcome: 'confirmed' },
    });
    await expectPromise(room, asked, { state: 'cancelled', jobs: 0 });
    await untilClosed(asked.id);
  });

  it('the submit is under way: the POST is not cut, then the provider is asked', async () => {
    const prompt = uniquePrompt('submitting');
    await room.sim.fault(prompt, { kind: 'slow_submit', ms: 3_000 }, { kind: 'render_ms', ms: 20_000 });
    const asked = await ask(room, 'slow-lease', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'submitting' || stage === 'waiting');
    expect((await cancel(asked.id)).status).toBe(202);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
    expect(generation.cancellation?.outcome).toBe('accepted_may_bill');
    expect((await room.sim.journal(prompt)).jobs[0]?.cancels).toBe(1);
  });

  it('the submission is unknown: recorded, never sent again; the callback tells that it is too late', async () => {
    const prompt = uniquePrompt('unknown');
    await room.sim.fault(prompt, { kind: 'reset_after_accept' }, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'submission_unknown');
    expect((await cancel(asked.id)).status).toBe(202);
    // A replay that had begun before the wish still comes to its end.
    await eventually(async () => {
      const where = { generationId: asked.id, state: 'unknown' };
      return (await room.db.prisma.submission.findFirst({ where })) ?? undefined;
    }, 90_000);
    const posts = async () =>
      (await room.sim.journal(prompt)).requests.filter(({ method }) => method === 'POST').length;
    const sent = await posts();
    const [job] = (await room.sim.journal(prompt)).jobs;
    await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(generation.cancellation?.outcome).toBe('too_late');
    expect(await posts()).toBe(sent);
  });

  it('waiting: tracking stops, the render may go on, nothing is charged', async () => {
    const prompt = uniquePrompt('waiting');
    await room.sim.fault(prompt, { kind: 'render_ms', ms: 20_000 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    const answer = await cancel(asked.id);
    expect(answer.status).toBe(202);
    // The run may have asked the provider before the answer is read.
    expect(['requested', 'accepted_may_bill']).toContain(answer.body.cancellation?.outcome);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
    expect(generation.cancellation).toMatchObject({ requested_by: 'tenant', outcome: 'accepted_may_bill' });
    await recordHistory(room, asked.id, 'cancel');
  });

  it('waiting, but it had finished: too late, delivered and captured', async () => {
    const prompt = uniquePrompt('finished anyway');
    await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'cancel_succeeded' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    expect((await cancel(asked.id)).status).toBe(202);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(generation.cancellation?.outcome).toBe('too_late');
  });

  it('the provider cannot be asked: asked again, not cancelled before it answers', async () => {
    const prompt = uniquePrompt('cancel 503');
    await room.sim.fault(prompt, { kind: 'render_ms', ms: 30_000 }, { kind: 'cancel_5xx', times: 8 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await cancel(asked.id);
    expect((await cancel(asked.id)).status).toBe(202);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
    expect((await room.sim.journal(prompt)).jobs[0]?.cancels).toBeGreaterThan(8);
  });

  it('storing: too late', async () => {
    const prompt = uniquePrompt('storing');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 600, times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing');
    expect((await cancel(asked.id)).status).toBe(202);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(generation.cancellation?.outcome).toBe('too_late');
  });

  it('ended: 409 already_terminal, nothing changes (IDEM-11)', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('ended'));
    await untilEnd(room, asked.id);
    const before = withoutLinks(await get(room, asked.id));
    const answer = await cancel(asked.id);
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe('already_terminal');
    expect(withoutLinks(await get(room, asked.id))).toEqual(before);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('Cancel in the Temporal UI', () => {
  it('while waiting: asks the provider in the name of an operator; the run completes', async () => {
    const prompt = uniquePrompt('UI cancel');
    await room.sim.fault(prompt, { kind: 'render_ms', ms: 20_000 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await room.client.workflow.getHandle(asked.id).cancel();
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
    expect(generation.cancellation?.requested_by).toBe('operator');
    await untilClosed(asked.id);
    expect((await room.client.workflow.getHandle(asked.id).describe()).status.name).toBe('COMPLETED');
    await recordHistory(room, asked.id, 'ui-cancel');
  });

  it('while the submit is under way: the POST is not cut', async () => {
    const prompt = uniquePrompt('UI cancel in submit');
    await room.sim.fault(prompt, { kind: 'slow_submit', ms: 3_000 }, { kind: 'render_ms', ms: 20_000 });
    const asked = await ask(room, 'slow-lease', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'submitting' || stage === 'waiting');
    await room.client.workflow.getHandle(asked.id).cancel();
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
  });

  it('while storing and settling: the output is delivered', async () => {
    const prompt = uniquePrompt('UI cancel in storing');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 600, times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing');
    await room.client.workflow.getHandle(asked.id).cancel();
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

async function untilClosed(id: string): Promise<void> {
  await eventually(async () => {
    const { status } = await room.client.workflow.getHandle(id).describe();
    return status.name === 'RUNNING' ? undefined : true;
  }, 90_000);
}
