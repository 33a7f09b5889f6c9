import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { Receiver } from '../support/receiver.ts';
import { KILL_POINTS, type KillPoint } from './kill-points.mjs';

let room: Darkroom;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
  room = await startDarkroom({ worker: false, allow: [`127.0.0.1:${receiver.port}`] });
  const { text: key } = await createApiKey(
    { db: room.db },
    { tenantId: room.tenantId, scopes: ['webhooks'], label: 'webhooks' },
  );
  const answer = await fetch(`${room.apiUrl}/v1/webhook-endpoints`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ url: `${receiver.url}/told` }),
  });
  if (answer.status !== 201) throw new Error(await answer.text());
});
afterAll(async () => {
  await Promise.all([room?.stop(), receiver?.close()]);
});

/** What each point has left behind, to be ended by those who come after. */
const left: { readonly point: KillPoint; readonly asked: Asked; readonly state: string }[] = [];

async function expectStruck(child: Child, point: KillPoint): Promise<void> {
  const marker = `${child.logFile}.crashed`;
  await eventually(() => (existsSync(marker) ? true : undefined), 60_000);
  await child.ended;
  expect(await readFile(marker, 'utf8')).toBe(point);
}

const waiting = (id: string) => until(room, id, ({ stage }) => stage === 'waiting', 60_000);
const stuck = (prompt: string) => room.sim.fault(prompt, { kind: 'stuck' });

const WORKER_POINTS = ['K3', 'K4', 'K5', 'K6', 'K7', 'K10', 'K11', 'K12', 'K13', 'K14', 'K15'] as const;

describe('a worker killed at K4 whose run is terminated', () => {
  it('leaves the key to the next run: one job, one capture', async () => {
    // Nothing but the same key can find the job.
    const prompt = uniquePrompt('K4, then terminated');
    await room.sim.fault(prompt, { kind: 'no_callbacks' });
    const worker = await room.startWorker('K4');
    const asked = await ask(room, 'early-look', prompt, { deadline_seconds: 600 });
    await expectStruck(worker, 'K4');
    await room.client.workflow.getHandle(asked.id).terminate('test');
    const next = await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    await next.stop(3_000, 'SIGKILL');
  });
});

describe('a process kills itself (-9) once, and its marker tells where', () => {
  it.each(WORKER_POINTS)('worker at %s', async (point) => {
    const worker = await room.startWorker(point);
    const asked = await ask(room, 'by-callback', uniquePrompt(point), { deadline_seconds: 600 });
    left.push({ point, asked, state: 'succeeded' });
    await expectStruck(worker, point);
  });

  it('worker at K16: the provider has answered the cancel', async () => {
    const prompt = uniquePrompt('K16');
    await stuck(prompt);
    const worker = await room.startWorker('K16');
    const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 600 });
    left.push({ point: 'K16', asked, state: 'cancelled' });
    await waiting(asked.id);
    expect((await call(room, 'DELETE', `/v1/generations/${asked.id}`)).status).toBe(202);
    await expectStruck(worker, 'K16');
    expect((await get(room, asked.id)).state).toBe('running');
  });

  it.each(['K1', 'K2', 'K8', 'K9'] as const)('API at %s: the call again tells the same', async (point) => {
    if (point === 'K1') await room.startWorker();
    await apiFor(point, async (api) => {
      const prompt = uniquePrompt(point);
      const input = { prompt, duration_seconds: 2 };
      const body = { model: 'by-callback', input, deadline_seconds: 600 };
      const key = `again-at-${point}`;
      const first = await call(room, 'POST', '/v1/generations', body, key).catch(() => null);
      await expectStruck(api, point);
      await healthyApi();
      const again = await call(room, 'POST', '/v1/generations', body, key);
      expect(again.status).toBe(202);
      // The callback of an earlier one may have struck before this call was taken.
      const isTaken = first !== null || point === 'K1' || point === 'K2';
      if (isTaken) expect(again.headers.get('idempotent-replayed')).toBe('true');
      if (first !== null) expect(again.body).toEqual(first.body);
      left.push({ point, asked: { id: again.body.id, prompt }, state: 'succeeded' });
    });
  });

  it('API at K16: the cancel is on record, nobody was told', () =>
    apiFor('K16', async (api) => {
      const prompt = uniquePrompt('K16 of the API');
      await stuck(prompt);
      const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 600 });
      left.push({ point: 'K16', asked, state: 'cancelled' });
      await waiting(asked.id);
      await expect(call(room, 'DELETE', `/v1/generations/${asked.id}`)).rejects.toThrow();
      await expectStruck(api, 'K16');
      await healthyApi();
    }));
});

let current: Child | undefined;

/** `scenario` on an API with that kill point in the place of the one that runs; afterwards a healthy one is there. */
async function apiFor(point: KillPoint, scenario: (api: Child) => Promise<void>): Promise<void> {
  await (current ?? room.running.api).stop(0, 'SIGKILL');
  const api = await room.startApi(point);
  await scenario(api);
  if (api.isRunning()) throw new Error(`${point} did not strike`);
}

async function healthyApi(): Promise<void> {
  current = await room.startApi();
}

describe('what they left behind', () => {
  it('ends by the promise: one job, one capture or release, the same bytes, told under one id', async () => {
    expect(new Set(left.map(({ point }) => point))).toEqual(new Set(Object.keys(KILL_POINTS)));
    for (const { point, asked, state } of left) {
      await untilEnd(room, asked.id, 90_000);
      await expectPromise(room, asked, { state, jobs: 1 }).catch((error: unknown) => {
        throw new Error(`${point}: ${String(error)}`, { cause: error });
      });
    }
    await eventually(() => (left.every(({ asked }) => told(asked.id).length > 0) ? true : undefined), 60_000);
    for (const { asked } of left) expect(new Set(told(asked.id)).size).toBe(1);
  }, 300_000);
});

/** The ids under which the endpoint was told of it. */
function told(id: string): readonly unknown[] {
  return receiver
    .at('/told')
    .filter(({ body }) => body.includes(id))
    .map(({ headers }) => headers['webhook-id']);
}
