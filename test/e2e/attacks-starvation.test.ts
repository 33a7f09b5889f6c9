import { afterAll, beforeAll, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';

/** None of them may end for want of time on a slow machine. */
const PATIENT = { deadline_seconds: 600 };

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

it('a cancel is not behind two hundred waiting downloads', async () => {
  const words = uniquePrompt('backlog');
  await room.sim.fault(words, { kind: 'link_slow', ms: 10_000 });
  for (let i = 0; i < 21; i += 1) {
    await Promise.all(
      Array.from({ length: 10 }, (_, k) => ask(room, 'by-callback', `${words} ${i} ${k}`, PATIENT)),
    );
    await sleep(300);
  }
  const storing = () => room.db.prisma.generation.count({ where: { stage: 'storing' } });
  for (let i = 0; i < 40 && (await storing()) < 200; i += 1) await sleep(1_000);
  const prompt = uniquePrompt('cancelled beside a backlog');
  await room.sim.fault(prompt, { kind: 'stuck' });
  const asked = await ask(room, 'by-callback', prompt, PATIENT);
  // Its submit stands in the queue of the two hundred, ten a second.
  await until(room, asked.id, ({ stage }) => stage === 'waiting', 180_000);

  await call(room, 'DELETE', `/v1/generations/${asked.id}`);
  await untilEnd(room, asked.id, 180_000).catch(() => undefined);
  // The downloads need minutes: whoever had waited for them would have seen their end.
  expect(await storing()).toBeGreaterThan(0);
  await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
}, 420_000);
