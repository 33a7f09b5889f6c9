import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RunFacts } from '../../src/db/index.ts';
import { pauseTarget, resumeTarget, type PauseKind } from '../../src/db/pauses.ts';
import { wakeGeneration } from '../../src/services/wake-generation.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { ensured } from '../support/ensured.ts';
import { historyOf } from '../support/history.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());
afterEach(() => room.db.prisma.pause.deleteMany());

const BY = { reason: 'test', actor: 'test' };
const pause = (kind: PauseKind, target: string) => pauseTarget(room.db, { kind, target, ...BY });
const resume = (kind: PauseKind, target: string) => resumeTarget(room.db, { kind, target, ...BY });

/** Resolves once the Temporal UI says this of the run. */
function untilUiSays(id: string, words: string): Promise<string> {
  const metadata = z.object({ currentDetails: z.string() });
  return eventually(async () => {
    const handle = room.client.workflow.getHandle(id);
    const answer = await handle.query('__temporal_workflow_metadata').catch(() => null);
    const parsed = metadata.safeParse(answer);
    return parsed.success && parsed.data.currentDetails.includes(words)
      ? parsed.data.currentDetails
      : undefined;
  });
}

async function wake(id: string): Promise<void> {
  const woken: Promise<void>[] = [];
  const starter = { enqueue: (run: RunFacts) => woken.push(ensured(room.client, run, 'operator')) > 0 };
  await wakeGeneration({ db: room.db, starter }, { ...BY, id, dryRun: false });
  await Promise.all(woken);
}

describe('a paused provider', () => {
  it('others go on with the next one, those without one wait and can be cancelled, and go on when it is resumed', async () => {
    const stuck = uniquePrompt('has it already');
    await room.sim.fault(stuck, { kind: 'stuck' });
    const running = await ask(room, 'by-callback', stuck);
    await until(room, running.id, ({ stage }) => stage === 'waiting');
    await pause('provider', 'infro');

    const elsewhere = await ask(room, 'two-providers', uniquePrompt('goes elsewhere'));
    const [waiting, cancelled] = await Promise.all([
      ask(room, 'by-callback', uniquePrompt('waits'), { deadline_seconds: 600 }),
      ask(room, 'by-callback', uniquePrompt('is cancelled'), { deadline_seconds: 600 }),
    ]);
    await untilEnd(room, elsewhere.id);
    await expectPromise(room, elsewhere, { state: 'succeeded', jobs: 1, provider: 'aigenway' });
    const details = await untilUiSays(waiting.id, 'an operator has paused submits to the provider');
    expect(details).toContain('**queued**, stage queued');
    expect(await room.db.prisma.submission.count({ where: { generationId: waiting.id } })).toBe(0);
    await untilUiSays(cancelled.id, 'an operator has paused submits');
    expect((await call(room, 'DELETE', `/v1/generations/${cancelled.id}`)).body).toMatchObject({
      state: 'cancelled',
      credits: { held: 0, released: 40 },
    });
    // What it has already is cancelled there as ever.
    await call(room, 'DELETE', `/v1/generations/${running.id}`);
    expect(await untilEnd(room, running.id)).toMatchObject({
      state: 'cancelled',
      cancellation: { outcome: 'accepted_may_bill' },
    });
    const events = await historyOf(room, waiting.id);

    expect(await resume('provider', 'infro')).toMatchObject({ outcome: 'resumed', due: 1 });
    await untilEnd(room, waiting.id);
    await expectPromise(room, waiting, { state: 'succeeded', jobs: 1 });
    // One step, one timer: it slept until it was woken. A step that was lost, or a wake, adds a look and its step.
    const count = (name: string) => events.filter((event) => event[`${name}EventAttributes`]).length;
    const more = count('activityTaskTimedOut') + count('workflowExecutionSignaled');
    expect(count('activityTaskScheduled')).toBeLessThanOrEqual(1 + 2 * more);
    expect(count('timerStarted')).toBeLessThanOrEqual(1 + 2 * more);
    const last = events.at(-1)?.['timerStartedEventAttributes'];
    expect(last).toMatchObject({
      startToFireTimeout: { seconds: expect.stringMatching(/^\d{3}$/) as string },
    });
  });
});

describe('a paused model and tenant', () => {
  it('what was taken before waits, the Temporal UI says for what, and goes on when both are resumed', async () => {
    await pause('provider', 'infro');
    const waiting = await ask(room, 'by-callback', uniquePrompt('waits for model and tenant'), {
      deadline_seconds: 600,
    });
    await untilUiSays(waiting.id, 'paused submits to the provider');
    await pause('model', 'by-callback');
    await wake(waiting.id);
    await untilUiSays(waiting.id, 'an operator has paused the model');
    await pause('tenant', room.tenantId);
    await wake(waiting.id);
    await untilUiSays(waiting.id, 'an operator has paused the tenant');
    const body = { model: 'by-callback', input: { prompt: 'x', duration_seconds: 2 } };
    expect((await call(room, 'POST', '/v1/generations', body)).status).toBe(403);

    expect(await resume('provider', 'infro')).toMatchObject({ due: 0 });
    expect(await resume('tenant', room.tenantId)).toMatchObject({ due: 0 });
    expect((await call(room, 'POST', '/v1/generations', body)).status).toBe(503);
    expect(await resume('model', 'by-callback')).toMatchObject({ due: 1 });
    await untilEnd(room, waiting.id);
    await expectPromise(room, waiting, { state: 'succeeded', jobs: 1 });
  });
});
