import pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openChangeFeed, requestCancel } from '../../src/db/index.ts';
import type { ChangeFeed } from '../../src/db/index.ts';
import { createWaiters, type Waiters } from '../../src/services/await-generation.ts';
import {
  createGenerationChanges,
  type GenerationChangesOptions,
} from '../../src/services/generation-changes.ts';
import { useDatabase } from '../db/database.ts';
import { accept, observe, send as sendJob } from '../db/fixtures.ts';
import { startApi, type TestApi } from './api.ts';
import { send } from './client.ts';
import { ask as askAt } from './following.ts';
import { create, get, type TestTenant } from './tenants.ts';

const test = useDatabase({ poolSize: 20 });
const NEVER_MS = 600_000;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
});

/** Waiters that say how many wait. */
function countedWaiters(limit: number): Waiters & { readonly waiting: () => number } {
  const inner = createWaiters(limit);
  let count = 0;
  return {
    run: (wait) =>
      inner.run(async () => {
        count += 1;
        await wait().finally(() => (count -= 1));
      }),
    waiting: () => count,
  };
}

/** One process of the API: by hints only, unless it is told how often it looks. */
async function start(
  options: Partial<GenerationChangesOptions> & { readonly hints?: boolean; readonly waiters?: number } = {},
) {
  const { hints = false, waiters: room = 64, ...limits } = options;
  const listeners: ((payload: string | null) => void)[] = [];
  const feed: ChangeFeed = hints
    ? openChangeFeed(test.url, () => {})
    : {
        subscribe: (_channel, listener) => {
          listeners.push(listener);
          return () => {};
        },
        close: async () => {},
      };
  const connected = hints
    ? new Promise<void>((resolve) => void feed.subscribe('darkroom_generation', () => resolve()))
    : Promise.resolve();
  const changes = createGenerationChanges(
    { db: test.db, feed, onProblem: () => {} },
    { lookEveryMs: NEVER_MS, ...limits },
  );
  const waiters = countedWaiters(room);
  const api = await startApi(test.db, { changes, waiters });
  open.push(api, changes, feed);
  await connected;
  return {
    api,
    changes,
    waiting: waiters.waiting,
    hint: (payload: string | null) => listeners.forEach((l) => l(payload)),
  };
}

const ask = (api: TestApi) => askAt({ db: test.db, api });
const pathOf = (id: string) => `/v1/generations/${id}`;
const wait = (api: TestApi, tenant: TestTenant, id: string, headers = {}) =>
  get(api.url, tenant, pathOf(id), { Prefer: 'wait=60', ...headers });
const cancel = (id: string) =>
  requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
const facts = (answer: Awaited<ReturnType<typeof wait>>) => [
  answer.status,
  answer.json()['state'],
  answer.headers['preference-applied'],
];
const LIMIT = { timeout: 30_000 };

describe('Prefer: wait', () => {
  it('ends at once when another process moved it: by the hint alone, nobody looks', async () => {
    const { api, waiting } = await start({ hints: true });
    const { tenant, id } = await ask(api);
    const known = (await get(api.url, tenant, pathOf(id))).headers.etag!;
    const answers = [wait(api, tenant, id), wait(api, tenant, id, { 'If-None-Match': known })];
    await expect.poll(waiting, LIMIT).toBe(2);
    await sendJob(test.db, id);
    for (const answer of await Promise.all(answers)) {
      expect([...facts(answer), answer.json()['stage']]).toEqual([200, 'queued', 'wait=60', 'submitting']);
    }
  });

  it('a hint that was lost is made good by the look', async () => {
    const { api, waiting } = await start({ lookEveryMs: 50 });
    const { tenant, id } = await ask(api);
    const answer = wait(api, tenant, id);
    await expect.poll(waiting, LIMIT).toBe(1);
    await cancel(id);
    expect(facts(await answer)).toEqual([200, 'cancelled', 'wait=60']);
  });

  it('a change between the first read and the wait is not missed', async () => {
    const { api } = await start();
    const { tenant, id } = await ask(api);
    const query = test.db.query.bind(test.db);
    let reads = 0;
    const spy = vi.spyOn(test.db, 'query').mockImplementation(async (...read) => {
      const rows = await query(...read);
      if (read[0].includes('FROM generation') && (reads += 1) === 1) await cancel(id);
      return rows;
    });
    expect(facts(await wait(api, tenant, id))).toEqual([200, 'cancelled', 'wait=60']);
    spy.mockRestore();
  });

  it('goes on through hints behind which nothing changed, and looks at the provider that told nothing new', async () => {
    const { api, waiting, hint } = await start();
    const { tenant, id } = await ask(api);
    await sendJob(test.db, id);
    await accept(test.db, id);
    const answer = wait(api, tenant, id);
    await expect.poll(waiting, LIMIT).toBe(1);
    const looks = vi.spyOn(test.db.prisma.generation, 'findMany');
    for (const payload of [null, id, null]) {
      await observe(test.db, id, 'running');
      const before = looks.mock.calls.length;
      hint(payload);
      await expect.poll(() => looks.mock.calls.length, LIMIT).toBe(before + 1);
      await looks.mock.results.at(-1)!.value;
    }
    expect(waiting()).toBe(1);
    looks.mockRestore();
    await observe(test.db, id, 'running', { progress: 0.5 });
    hint(id);
    expect((await answer).json()).toMatchObject({ state: 'running', progress: 0.5 });
  });

  it('twenty that wait for what does not move cost the one look of all, and nothing else', async () => {
    const { api, waiting, changes } = await start({ lookEveryMs: 50 });
    const asked = await Promise.all(Array.from({ length: 20 }, () => ask(api)));
    // Followed from the first: a look at one generation alone is then a waiter's own, never the one of all.
    const nobodys = ['gen_a', 'gen_b'];
    for (const generationId of nobodys) {
      changes.follow({ generationId, tenantId: 'ten_x', onChange: () => {} });
    }
    const looks = vi.spyOn(test.db.prisma.generation, 'findMany');
    const idsOf = ([query]: readonly unknown[]) => (query as { where: { id: { in: string[] } } }).where.id.in;
    const answers = asked.map(({ tenant, id }) => wait(api, tenant, id));
    await expect.poll(waiting, LIMIT).toBe(20);
    // Each looks before it waits, once it follows, and when it was told, which is once.
    await expect
      .poll(() => looks.mock.calls.filter((call) => idsOf(call).length === 1).length, LIMIT)
      .toBe(60);
    await Promise.all(looks.mock.results.map(({ value }) => value as Promise<unknown>));
    const statements = vi.spyOn(pg.Client.prototype, 'query');
    const before = looks.mock.calls.length;
    await expect.poll(() => looks.mock.calls.length - before, LIMIT).toBeGreaterThanOrEqual(5);
    await looks.mock.results.at(-1)!.value;
    expect(statements.mock.calls.length).toBeGreaterThanOrEqual(4);
    expect(statements.mock.calls.length).toBeLessThanOrEqual(looks.mock.calls.length - before + 1);
    const all = [...nobodys, ...asked.map(({ id }) => id)].toSorted();
    for (const call of looks.mock.calls.slice(before)) expect(idsOf(call).toSorted()).toEqual(all);
    statements.mockRestore();
    looks.mockRestore();
    for (const { id } of asked) await cancel(id);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  });

  it('too many at once, by waiters or by followers: the answer comes at once and says so', async () => {
    for (const limits of [{ waiters: 1 }, { maxFollowersPerTenant: 1 }]) {
      const { api, waiting } = await start({ ...limits, lookEveryMs: 50 });
      const { tenant, id } = await ask(api);
      const first = wait(api, tenant, id);
      await expect.poll(waiting, LIMIT).toBe(1);
      expect(facts(await wait(api, tenant, id))).toEqual([200, 'queued', undefined]);
      await cancel(id);
      expect(facts(await first)).toEqual([200, 'cancelled', 'wait=60']);
      const next = (await create(api.url, tenant)).json()['id'] as string;
      const second = wait(api, tenant, next);
      await expect.poll(waiting, LIMIT).toBe(1);
      await cancel(next);
      expect(facts(await second)).toEqual([200, 'cancelled', 'wait=60']);
    }
  });

  it('who leaves makes room, and the stop of the process ends all waits', async () => {
    const { api, waiting } = await start({ waiters: 1 });
    const { tenant, id } = await ask(api);
    const headers = { Authorization: `Bearer ${tenant.key}`, Prefer: 'wait=60' };
    const cut = send(api.url, { path: pathOf(id), headers, abortAfterMs: 300 });
    await expect(cut).rejects.toThrow('cut by the test');
    await expect.poll(waiting, LIMIT).toBe(0);
    const second = wait(api, tenant, id);
    await expect.poll(waiting, LIMIT).toBe(1);
    api.drain();
    expect(facts(await second)).toEqual([200, 'queued', 'wait=60']);
  });
});
