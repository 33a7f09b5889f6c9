import { expect } from 'vitest';
import type { Darkroom } from './darkroom.ts';
import { ask, call, expectPromise, until, untilEnd, uniquePrompt, type Asked } from './generations.ts';

/**
 * A generation that its provider has, and which ends only when the test says so (`release`), however slow the
 * machine: its job is stuck until it is asked to cancel, and answers then that it had finished.
 */
export async function askHeld(room: Darkroom): Promise<Asked> {
  const prompt = uniquePrompt('held');
  await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'cancel_succeeded' });
  const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 1_800 });
  await until(room, asked.id, ({ stage }) => stage === 'waiting', 60_000);
  return asked;
}

/** Lets the provider finish it; the run is woken. */
export async function release(room: Darkroom, { id }: Asked): Promise<void> {
  expect((await call(room, 'DELETE', `/v1/generations/${id}`)).status).toBe(202);
}

/** Once released: delivered, captured once, one job, no invariant violated. */
export async function expectDelivered(room: Darkroom, asked: Asked): Promise<void> {
  await untilEnd(room, asked.id, 90_000);
  await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
}
