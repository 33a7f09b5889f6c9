import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { eventually } from '../simulators/control.ts';
import { startBalancer } from '../support/balancer.ts';
import type { Balancer } from '../support/balancer.ts';
import { fastCatalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { call, expectInvariants, get, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';

const AT_LEAST = 20;
const AT_MOST = 150;
const ASK_EVERY_MS = 800;
/** Eight processes start and four stop here, on a machine that may be busy. */
const LIMIT_MS = 240_000;

/** Long enough for a busy machine: what is cut here is cut by the restart. */
const timings = {
  submitHttpTimeoutMs: 15_000,
  submitLeaseMs: 20_000,
  submitStartToCloseMs: 40_000,
  submitQueueMs: 60_000,
};
const catalogue = catalogueSchema.parse({
  models: fastCatalogue.models.map((model) => ({
    ...model,
    deadlineSeconds: { default: 600, max: 3_600 },
    timings: { ...model.timings, ...timings },
  })),
});

let room: Darkroom;
let balancer: Balancer;
beforeAll(async () => {
  [room, balancer] = await Promise.all([startDarkroom({ worker: false, catalogue }), startBalancer()]);
});
afterAll(async () => {
  await room?.stop();
  await balancer?.close();
});

/** Asks it to stop as a deployment does, and starts the next one at once. */
async function roll(old: Child, next: () => Promise<Child>): Promise<Child> {
  const [end, started] = await Promise.all([old.stop(60_000, 'SIGTERM'), next()]);
  expect(end, old.name).toEqual({ code: 0, signal: null });
  return started;
}

/** A 503 of the API document, which says to send the same request again. */
const DOCUMENTED = / 503 .*"code":"(database_unavailable|not_ready|busy)"/;

/** As a careful client: the same request with the same key again after a documented 503. */
function take(client: Darkroom, prompt: string): Promise<Asked> {
  const key = randomUUID();
  const body = { model: 'by-callback', input: { prompt, duration_seconds: 2 } };
  return eventually(async () => {
    const answer = await call(client, 'POST', '/v1/generations', body, key);
    if (answer.status === 503) return undefined;
    expect(answer.status, JSON.stringify(answer.body)).toBe(202);
    return { id: answer.body.id, prompt };
  });
}

it(
  'a rolling restart of two workers and two APIs under load: nothing fails, nothing is sent twice',
  async () => {
    const [firstPort, secondPort, thirdPort] = [
      Number(new URL(room.apiUrl).port),
      ...(await freePorts(2)),
    ] as [number, number, number];
    const client: Darkroom = { ...room, apiUrl: balancer.url };
    const worker = () => room.startWorker(undefined, { PUBLIC_URL: balancer.url });
    const startApi = async (port: number) => {
      const api = await room.startApi(undefined, port);
      balancer.add(port);
      return api;
    };
    balancer.add(firstPort);
    const [firstWorker, secondWorker, secondApi] = await Promise.all([
      worker(),
      worker(),
      startApi(secondPort),
    ]);
    await eventually(async () => ((await fetch(`${balancer.url}/readyz`)).ok ? true : undefined));
    const before = balancer.bad.length;

    const words = uniquePrompt('rolling');
    const asked: Asked[] = [];
    const seen: Promise<unknown>[] = [];
    const rolled = new AbortController();
    const load = (async () => {
      while (asked.length < AT_LEAST || (!rolled.signal.aborted && asked.length < AT_MOST)) {
        const one = await take(client, `${words} no. ${asked.length};`);
        asked.push(one);
        seen.push(get(client, one.id));
        await sleep(ASK_EVERY_MS);
      }
    })();

    await eventually(() => (asked.length >= 3 ? true : undefined));
    await Promise.all([roll(firstWorker, worker), roll(room.running.api, () => startApi(thirdPort))]);
    // The second API takes over the address of the links.
    await Promise.all([roll(secondWorker, worker), roll(secondApi, () => startApi(firstPort))]);
    rolled.abort();
    await load;
    await Promise.all(seen);
    await eventually(async () => {
      const open = await room.db.prisma.generation.count({ where: { completedAt: null } });
      return open === 0 ? true : undefined;
    }, 90_000);
    const ends = await Promise.all(asked.map(({ id }) => get(client, id)));

    expect(ends.map(({ state }) => state)).toEqual(asked.map(() => 'succeeded'));
    expect(balancer.bad.slice(before).filter((bad) => !DOCUMENTED.test(bad))).toEqual([]);
    await eventually(() =>
      (balancer.answers.get('POST callbacks') ?? 0) >= asked.length ? true : undefined,
    );
    for (const { prompt } of asked) {
      const journal = await room.sim.journal(prompt);
      expect(journal.jobs.length).toBe(1);
      expect(journal.requests.filter(({ method }) => method === 'POST').length).toBe(1);
    }
    const submissions = await room.db.prisma.submission.findMany();
    // Each was claimed once and its answer recorded: no submit was cut short.
    expect(submissions.map(({ fence, state, unknownAt }) => [fence, state, unknownAt])).toEqual(
      asked.map(() => [1, 'accepted', null]),
    );
    await expectInvariants(room);
  },
  LIMIT_MS,
);
