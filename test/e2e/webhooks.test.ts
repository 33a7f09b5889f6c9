import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, get, untilEnd, uniquePrompt } from '../support/generations.ts';
import { Receiver, verifiedEvent } from '../support/receiver.ts';

let room: Darkroom;
let receiver: Receiver;
let key: string;
const workers: Child[] = [];
beforeAll(async () => {
  receiver = await Receiver.start();
  room = await startDarkroom({ worker: false, allow: [`127.0.0.1:${receiver.port}`] });
  const created = await createApiKey(
    { db: room.db },
    { tenantId: room.tenantId, scopes: ['webhooks'], label: 'webhooks' },
  );
  key = created.text;
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop(2_000, 'SIGKILL')));
  await Promise.all([room?.stop(), receiver?.close()]);
});

async function startWorker(crashAt?: string): Promise<Child> {
  const worker = await room.startWorker(crashAt);
  workers.push(worker);
  return worker;
}

async function webhooks<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(room.apiUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text || '{}') as T;
}

/** An endpoint at this path of the receiver, for the time of one scenario. */
async function withEndpoint(path: string, scenario: (secret: string) => Promise<void>): Promise<void> {
  const endpoint = await webhooks<{ id: string; secret: string }>('POST', '/v1/webhook-endpoints', {
    url: receiver.url + path,
  });
  try {
    await scenario(endpoint.secret);
  } finally {
    await webhooks('DELETE', `/v1/webhook-endpoints/${endpoint.id}`);
  }
}

interface Delivery {
  readonly state: string;
  readonly attempts: number;
}

/** The deliveries of a generation, once none of them waits. */
function settled(generationId: string): Promise<readonly Delivery[]> {
  return eventually(async () => {
    const path = `/v1/webhook-deliveries?generation=${generationId}`;
    const { data } = await webhooks<{ data: Delivery[] }>('GET', path);
    return data.length > 0 && data.every(({ state }) => state !== 'pending') ? data : undefined;
  }, 90_000);
}

const ONCE = { state: 'delivered', attempts: 1 };
const idOf = (generationId: string) => `evt_${generationId.slice(4)}_succeeded`;

describe('webhooks to tenants', () => {
  it('WHO-9 worker killed (-9) between the POST and its record: told again under the same id, same bytes', () =>
    withEndpoint('/killed', async (secret) => {
      const worker = await startWorker('before:record_delivery_attempt');
      const asked = await ask(room, 'by-callback', uniquePrompt('told, then killed'));
      await receiver.until('/killed', 1, 90_000);
      await worker.ended;
      await startWorker();
      const [first, second] = await receiver.until('/killed', 2, 90_000);
      expect(await settled(asked.id)).toMatchObject([{ state: 'delivered', attempts: 2 }]);
      expect(verifiedEvent(first!, secret)).toEqual(verifiedEvent(second!, secret));
      expect(second!.body).toBe(first!.body);
      expect([first, second].map((one) => one!.headers['webhook-id'])).toEqual(Array(2).fill(idOf(asked.id)));
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    }));

  it('WHO-2 WHO-10 a generation ends: endpoint and callback_url are told once each, verified, with what the API shows', () =>
    withEndpoint('/once', async (secret) => {
      const { secret: own } = await webhooks<{ secret: string }>('POST', '/v1/webhook-secret/rotate', {});
      const callback = { callback_url: `${receiver.url}/callback` };
      const asked = await ask(room, 'by-callback', uniquePrompt('told once'), callback);
      await untilEnd(room, asked.id);
      expect(await settled(asked.id)).toMatchObject([ONCE, ONCE]);
      const shown = await get(room, asked.id);
      for (const [path, signedWith] of [
        ['/once', secret],
        ['/callback', own],
      ] as const) {
        const [received, ...more] = receiver.at(path);
        expect(more).toEqual([]);
        const { data, ...event } = verifiedEvent(received!, signedWith);
        expect(event).toMatchObject({ type: 'generation.succeeded', version: 1, id: idOf(asked.id) });
        const { outputs, ...told } = data;
        expect(told).toEqual({ ...shown, outputs: undefined });
        const [{ url }] = outputs as [{ url: string }];
        expect((await fetch(url)).status).toBe(200);
      }
    }));

  it('a receiver that answers 404 for some seconds loses no event', () =>
    withEndpoint('/deaf', async (secret) => {
      let deafUntilMs = Infinity;
      receiver.answer = ({ path, atMs }) => {
        if (path !== '/deaf') return 204;
        deafUntilMs = Math.min(deafUntilMs, atMs + 4_000);
        return atMs < deafUntilMs ? 404 : 204;
      };
      const asked = await Promise.all(
        [1, 2, 3].map((count) => ask(room, 'by-callback', uniquePrompt(`told to the deaf ${count}`))),
      );
      for (const { id } of asked) await settled(id);
      const refused = receiver.at('/deaf').filter(({ atMs }) => atMs < deafUntilMs);
      expect(refused.length).toBeGreaterThan(0);
      const taken = receiver.at('/deaf').filter(({ atMs }) => atMs >= deafUntilMs);
      const ids = taken.map((received) => verifiedEvent(received, secret).id);
      expect(ids.toSorted()).toEqual(asked.map(({ id }) => idOf(id)).toSorted());
    }));
});
