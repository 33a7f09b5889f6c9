import { afterAll, beforeAll, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

it('a cancel is not behind two hundred waiting downloads', async () => {
  const words = uniquePrompt('backlog');
  await room.sim.fault(words, { kind: 'link_slow', ms: 10_000 });
  for (let i = 0; i < 21; i += 1) {
    await Promise.all(Array.from({ length: 10 }, (_, k) => ask(room, 'by-callback', `${words} ${i} ${k}`)));
    await sleep(300);
  }
  for (let i = 0; i < 40; i += 1) {
    const n = await room.db.prisma.generation.count({ where: { stage: 'storing' } });
    if (n >= 200) break;
    await sleep(1_000);
  }
  const prompt = uniquePrompt('cancelled beside a backlog');
  await room.sim.fault(prompt, { kind: 'stuck' });
  const asked = await ask(room, 'by-callback', prompt);
  // Its submit stands in the queue of the two hundred, ten a second.
  await until(room, asked.id, ({ stage }) => stage === 'waiting', 60_000);

  await call(room, 'DELETE', `/v1/generations/${asked.id}`);
  // The downloads need minutes: whoever waited for them would not be through by then.
  await untilEnd(room, asked.id, 60_000).catch(() => undefined);
  await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
}, 150_000);
