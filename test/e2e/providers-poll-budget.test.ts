import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freezePlan } from '../../src/domain/plan.ts';
import { accept, create, send } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { budgetCatalogue } from '../support/unknown-models.ts';

const JOBS = 400;
const BUDGET_PER_SECOND = 20;
/** Told by how many of the other jobs are looked at before, as all of them stand still with the machine. */
const WITHIN_SECONDS = 2;
const WINDOW_MS = 6_000;

const [model] = budgetCatalogue.models;

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: budgetCatalogue });
});
afterAll(() => room?.stop());

it('400 polled jobs on a budget of 20 a second, then one callback: that job is looked at within a second', async () => {
  const called = await Promise.all(['first', 'second', 'third'].map(startCalled));
  const words = uniquePrompt('polled');
  await room.sim.fault(words, { kind: 'stuck' });
  const jobs = new Set(await startPolled(words));
  await untilAllLookedAt(words);

  // A turn comes every 20 seconds, so that within these few none is asked about twice.
  expect(WINDOW_MS).toBeLessThan((JOBS / BUDGET_PER_SECOND) * 1_000);
  const pollsOf = async () => {
    const fromMs = Date.now();
    await sleep(WINDOW_MS);
    return (await looksSince(fromMs)).filter((id) => jobs.has(id));
  };
  let polled = await pollsOf();
  // What stood still for 5 s is woken by the sweep, too.
  for (let again = 0; again < 2 && new Set(polled).size < polled.length; again += 1) polled = await pollsOf();
  expect(new Set(polled).size).toBe(polled.length);

  const looksBefore: number[] = [];
  for (const asked of called) {
    const fromMs = Date.now();
    const { id, observes } = await jobOf(asked);
    await room.sim.post(`jobs/${id}`, { status: 'succeeded' });
    await eventually(async () => (await jobOf(asked)).observes > observes || undefined, 90_000);
    const looks = await looksSince(fromMs);
    looksBefore.push(looks.slice(0, looks.indexOf(id)).filter((looked) => jobs.has(looked)).length);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  }
  expect(Math.max(...looksBefore)).toBeLessThan(JOBS / 2);
  expect(Math.min(...looksBefore)).toBeLessThanOrEqual(WITHIN_SECONDS * BUDGET_PER_SECOND);
}, 300_000);

/** One that waits for its callback, which comes when the test says so. */
async function startCalled(words: string): Promise<Asked> {
  const prompt = uniquePrompt(`called ${words}`);
  await room.sim.fault(prompt, { kind: 'stuck' });
  const asked = await ask(room, 'called', prompt, { ...video(prompt), deadline_seconds: 3_600 });
  await until(room, asked.id, ({ stage }) => stage === 'waiting', 60_000);
  return asked;
}

const jobOf = ({ prompt }: Asked) => eventually(async () => (await room.sim.journal(prompt)).jobs[0]);

/** Jobs that the simulator has and whose generations wait for them, found by the sweep; their ids. */
async function startPolled(words: string): Promise<readonly string[]> {
  const tenant = { id: room.tenantId, accountId: '' };
  const input = { prompt: words, duration_seconds: 4 };
  const price = { credits: 40, creditsPerOutput: 40, outputs: 1 };
  const plan = freezePlan({ model: model!, routes: model!.routes, providerChosen: false, input, price });
  const ids: string[] = [];
  async function start(): Promise<void> {
    const generationId = await create(room.db, tenant, { model: 'polled', plan, credits: 40, input });
    await send(room.db, generationId, { credential: 'default', callbackBase: null, callbackKeyId: null });
    const answer = await fetch(`${room.sim.url}/v1/videos`, {
      method: 'POST',
      headers: { authorization: 'Bearer sim-key', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm-video', ...input }),
    });
    const { id } = (await answer.json()) as { id: string };
    await accept(room.db, generationId, id);
    ids.push(id);
  }
  for (let n = 0; n < JOBS; n += 8) await Promise.all(Array.from({ length: 8 }, start));
  await room.db.prisma.generation.updateMany({
    where: { model: 'polled' },
    data: { dueAt: new Date(Date.now() - 60_000) },
  });
  return ids;
}

async function untilAllLookedAt(words: string): Promise<void> {
  for (let waited = 0; waited < 120; waited += 1) {
    const { jobs } = await room.sim.journal(words);
    if (jobs.every(({ observes }) => observes > 0)) return;
    await sleep(1_000);
  }
  throw new Error('not all were looked at within two minutes');
}

/** The jobs that were looked at, in their order. */
async function looksSince(fromMs: number): Promise<readonly string[]> {
  const { requests } = await room.sim.journal();
  return requests
    .filter(({ method, at }) => method === 'GET' && Date.parse(at) >= fromMs)
    .map(({ path }) => path.split('/').at(-1)!);
}
