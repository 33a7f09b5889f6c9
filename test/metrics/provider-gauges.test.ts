import { describe, expect, it } from 'vitest';
import type { Db, NewGeneration } from '../../src/db/index.ts';
import { setProviderBudget, settle } from '../../src/db/index.ts';
import { createProviderGauges } from '../../src/metrics/provider-gauges.ts';
import { startApi, stubDb } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { accept, create, newTenant, observe, send } from '../db/fixtures.ts';
import { Scrape } from './samples.ts';
import { awayFromTheTurn } from '../db/turns.ts';

const database = useDatabase();
const PROVIDERS = ['infro', 'kling', 'runway'];

const shown = () =>
  Scrape.fresh(
    () => createProviderGauges(database.db, PROVIDERS),
    (scrape) => scrape.value('darkroom_database_up') === 1,
  );

/** A generation whose job this provider has. */
async function submitted(provider: string, callbackBase: string | null, over: Partial<NewGeneration> = {}) {
  const id = await create(database.db, await newTenant(database.db), over);
  await send(database.db, id, { provider, callbackBase, callbackKeyId: callbackBase === null ? null : 'k1' });
  await accept(database.db, id);
  return id;
}

describe('gauges of the database', () => {
  it('are zero where there is nothing, and say nothing of a budget that is not set', async () => {
    const scrape = await shown();
    expect(scrape.value('darkroom_database_up')).toBe(1);
    for (const provider of PROVIDERS) {
      expect(scrape.value('darkroom_circuit_open', { provider })).toBe(0);
      expect(scrape.value('darkroom_jobs_waiting', { provider, by: 'callback' })).toBe(0);
      expect(scrape.value('darkroom_jobs_waiting', { provider, by: 'poll' })).toBe(0);
      expect(scrape.value('darkroom_daily_budget_reached', { provider })).toBeUndefined();
    }
  });

  it('jobs that are waited for are counted by how their end is learnt, until job or generation has ended', async () => {
    const url = 'https://darkroom.example/callbacks';
    const [ended, expired] = [
      await submitted('infro', url),
      await submitted('infro', url, { deadlineSeconds: 0 }),
    ];
    await submitted('infro', url);
    await submitted('kling', null);
    await submitted('kling', null);
    const waiting = async (provider: string, by: string) =>
      (await shown()).value('darkroom_jobs_waiting', { provider, by });
    expect(await waiting('infro', 'callback')).toBe(3);
    expect(await waiting('infro', 'poll')).toBe(0);
    expect(await waiting('kling', 'poll')).toBe(2);
    await observe(database.db, ended, 'failed');
    expect(await waiting('infro', 'callback')).toBe(2);
    await settle(database.db, expired, { state: 'expired', errorCode: 'deadline_exceeded' });
    expect(await waiting('infro', 'callback')).toBe(1);
  });

  it('a circuit counts as open while submits are stopped, also for the time of a probe', async () => {
    const set = (open: string, probe: string | null) =>
      database.sql(
        `INSERT INTO provider_circuit (provider, failures, open_until, probe_until) VALUES ('runway', 5, now() + $1::interval, now() + $2::interval)
         ON CONFLICT (provider) DO UPDATE SET open_until = excluded.open_until, probe_until = excluded.probe_until`,
        [open, probe],
      );
    const open = async () => (await shown()).value('darkroom_circuit_open', { provider: 'runway' });
    await set('30 seconds', null);
    expect(await open()).toBe(1);
    await set('-1 seconds', null);
    expect(await open()).toBe(0);
    await set('-1 seconds', '10 seconds');
    expect(await open()).toBe(1);
    await database.sql(`DELETE FROM provider_circuit`);
  });

  it('a budget is reached from the first refusal to midnight UTC, or until it is set anew', async () => {
    await awayFromTheTurn('day');
    const budget = { provider: 'kling', amountPerDay: '5', unit: 'units', reason: 'test', actor: 'test' };
    const reached = async () => (await shown()).value('darkroom_daily_budget_reached', { provider: 'kling' });
    await setProviderBudget(database.db, budget);
    expect(await reached()).toBe(0);
    await database.sql(`UPDATE provider_budget SET reached_at = clock_timestamp()`);
    expect(await reached()).toBe(1);
    await database.sql(`UPDATE provider_budget SET reached_at = day_start() - interval '1 second'`);
    expect(await reached()).toBe(0);
    await database.sql(`UPDATE provider_budget SET reached_at = clock_timestamp()`);
    await setProviderBudget(database.db, { ...budget, amountPerDay: '9' });
    expect(await reached()).toBe(0);
  });
});

describe('reading', () => {
  it('happens at most every five seconds, and once for many scrapes at a time', async () => {
    let reads = 0;
    let now = 0;
    const db = {
      prisma: {
        $queryRaw: async () => {
          reads += 1;
          return [];
        },
      },
    } as unknown as Db;
    const gauges = createProviderGauges(db, PROVIDERS, () => now);
    await Promise.all(Array.from({ length: 10 }, () => gauges.refresh()));
    expect(reads).toBe(1);
    now = 4_999;
    await gauges.refresh();
    expect(reads).toBe(1);
    now = 5_000;
    await gauges.refresh();
    expect(reads).toBe(2);
  });

  it('shows nothing old while the database is away, and says so', async () => {
    let fail = false;
    let now = 0;
    const db = {
      prisma: { $queryRaw: () => (fail ? Promise.reject(new Error('away')) : Promise.resolve([])) },
    } as unknown as Db;
    const gauges = createProviderGauges(db, PROVIDERS, () => now);
    await gauges.refresh();
    fail = true;
    now = 5_000;
    await gauges.refresh();
    const scrape = new Scrape(await gauges.registry.metrics());
    expect(scrape.samples).toEqual([{ name: 'darkroom_database_up', labels: {}, value: 0 }]);
  });

  it('never holds up a scrape: a database that does not answer counts as away', async () => {
    const db = { prisma: { $queryRaw: () => new Promise(() => {}) } } as unknown as Db;
    const api = await startApi({ ...stubDb().db, ...db });
    const scrape = await Scrape.of(api.url);
    expect(scrape.value('darkroom_database_up')).toBe(0);
    expect(scrape.value('darkroom_callbacks_total', { provider: 'infro', answer: 'recorded' })).toBeTypeOf(
      'number',
    );
    await api.close();
  });
});
