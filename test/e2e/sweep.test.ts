import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { isRunOpen } from '../../src/temporal/runs.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';

let room: Darkroom;
let operator: string;
beforeAll(async () => {
  room = await startDarkroom();
  operator = (await createApiKey({ db: room.db }, { tenantId: null, scopes: ['admin'], label: 'e2e' })).text;
});
afterAll(() => room?.stop());

async function sweep(): Promise<{ counts: Record<string, number>; failed: object[] }> {
  const answer = await fetch(`${room.apiUrl}/admin/v1/sweep`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operator}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { counts: Record<string, number>; failed: object[] };
}

/** Its row is not due for an hour: the loops of the processes leave it alone. */
async function dueLate(id: string): Promise<void> {
  const dueAt = new Date(Date.now() + 3_600_000);
  await room.db.prisma.generation.update({ where: { id }, data: { dueAt } });
}

it('a run that was terminated while its row waits long: a sweep by hand starts it again, and it goes on', async () => {
  const prompt = uniquePrompt('terminated');
  await room.sim.fault(prompt, { kind: 'no_callbacks' });
  const asked = await ask(room, 'by-callback', prompt);
  await until(room, asked.id, ({ stage }) => stage === 'waiting');
  await room.client.workflow.getHandle(asked.id).terminate('test');
  await dueLate(asked.id);
  // The first poll is due, so that the new run looks at once, at a job that has ended.
  await room.db.prisma.submission.updateMany({
    where: { generationId: asked.id },
    data: { acceptedAt: new Date(Date.now() - 60_000) },
  });
  await eventually(async () => {
    const [job] = (await room.sim.journal(prompt)).jobs;
    return job?.renders_done === 1 ? true : undefined;
  }, 60_000);
  await eventually(
    () =>
      isRunOpen(room.client, asked.id).then(
        (isOpen) => (isOpen ? undefined : true),
        () => undefined,
      ),
    60_000,
  );
  const { counts, failed } = await sweep();
  expect(failed).toEqual([]);
  expect(counts['runs_ensured']).toBeGreaterThanOrEqual(1);
  await untilEnd(room, asked.id);
  await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
});

describe('when Temporal has no run any more', () => {
  const live = uniquePrompt('cancelled without a run');
  const past = uniquePrompt('past retention');
  const key = crypto.randomUUID();
  const body = { model: 'early-look', input: { prompt: past, duration_seconds: 2 } };
  let cancelled: Asked;
  let ended: GenerationView;
  beforeAll(async () => {
    await room.sim.fault(live, { kind: 'render_ms', ms: 600_000 });
    await room.sim.fault(past, { kind: 'callback_late', ms: 15_000 });
    cancelled = await ask(room, 'by-callback', live);
    const first = await call(room, 'POST', '/v1/generations', body, key);
    await until(room, cancelled.id, ({ stage }) => stage === 'waiting');
    ended = await untilEnd(room, first.body.id);
    await dueLate(cancelled.id);
    // All runs go at once, as after their retention.
    await room.temporal.kill();
    await room.temporal.wipe();
    await room.temporal.start();
  });

  it('E4 a cancel of a live row is obeyed, its hold is released; a second one is refused and books nothing', async () => {
    expect((await call(room, 'DELETE', `/v1/generations/${cancelled.id}`)).status).toBe(202);
    await untilEnd(room, cancelled.id);
    await expectPromise(room, cancelled, { state: 'cancelled', jobs: 1 });
    const refused = await call(room, 'DELETE', `/v1/generations/${cancelled.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'already_terminal']);
    const where = { generationId: cancelled.id };
    expect(await room.db.prisma.ledgerTransaction.count({ where })).toBe(0);
  });

  it('H7 the same key gives no second submit and no second hold; a late callback is taken from the rows', async () => {
    const { id } = ended;
    const again = await call(room, 'POST', '/v1/generations', body, key);
    expect([again.status, again.body.id]).toEqual([202, id]);
    expect(await room.db.prisma.hold.count({ where: { generationId: id } })).toBe(1);
    const answered = await eventually(async () => {
      const [job] = (await room.sim.journal(past)).jobs;
      const answers = job?.callbacks.map(({ answer }) => answer) ?? [];
      return answers.length > 0 ? answers : undefined;
    }, 80_000);
    expect(answered).toEqual(answered.map(() => 200));
    await expectPromise(room, { id, prompt: past }, { state: 'succeeded', jobs: 1 });
    expect(await get(room, id)).toMatchObject({ state: 'succeeded', updated_at: ended.updated_at });
  });
});
