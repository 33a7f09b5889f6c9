import { describe, expect, it } from 'vitest';
import { createStateGauges } from '../../src/metrics/state-gauges.ts';
import { claimPass, markPass } from '../../src/db/sweep.ts';
import { readInvariants, type Db } from '../../src/db/index.ts';
import { startApi } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, newTenant } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { Scrape } from './samples.ts';

const database = useDatabase();

const OWN = /^darkroom_(generations|oldest|needs|sweep|holds|stray|invariant)/;

const shown = () => Scrape.fresh(() => createStateGauges(database.db));

/** Our own series as a fresh API shows them, with their values. */
async function ofFreshApi(): Promise<Map<string, number>> {
  const api = await startApi(database.db);
  try {
    return await eventually(async () => {
      const own = (await Scrape.of(api.url)).samples.filter(({ name }) => OWN.test(name));
      if (!own.some(({ name }) => name === 'darkroom_generations')) return undefined;
      return new Map(own.map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]));
    }, 60_000);
  } finally {
    await api.close();
  }
}

describe('gauges of states', () => {
  it('are zero at every stage where there is nothing, and say nothing of a check that was never made', async () => {
    const scrape = await shown();
    for (const stage of [
      'queued',
      'submitting',
      'submission_unknown',
      'waiting',
      'storing',
      'settling',
      'needs_operator',
    ]) {
      expect(scrape.value('darkroom_generations', { stage })).toBe(0);
      expect(scrape.value('darkroom_oldest_generation_seconds', { stage })).toBe(0);
    }
    expect(scrape.value('darkroom_generations', { stage: 'done' })).toBeUndefined();
    for (const name of [
      'needs_operator',
      'sweep_backlog',
      'generations_overdue',
      'generations_stubborn',
      'holds_overdue',
      'stray_jobs',
    ])
      expect([name, scrape.value(`darkroom_${name}`)]).toEqual([name, 0]);
    expect(scrape.value('darkroom_invariants_checked_seconds')).toBeUndefined();
  });

  it('count what is open by stage, and what waits for a person', async () => {
    const tenant = await newTenant(database.db);
    await accepted(database.db, tenant);
    await accepted(database.db, tenant);
    const parked = await create(database.db, tenant);
    await database.sql(
      `UPDATE generation SET stage = 'needs_operator', operator_reason = 'r' WHERE id = $1`,
      [parked],
    );
    const scrape = await shown();
    expect(scrape.value('darkroom_generations', { stage: 'waiting' })).toBe(2);
    expect(scrape.value('darkroom_generations', { stage: 'needs_operator' })).toBe(1);
    expect(scrape.value('darkroom_needs_operator')).toBe(1);
    expect(scrape.value('darkroom_oldest_generation_seconds', { stage: 'waiting' })).toBeGreaterThan(0);
  });

  it('tell what the last check found, the same in every process', async () => {
    const [first] = await readInvariants();
    await claimPass(database.db, 'invariants', 0);
    await markPass(database.db, 'invariants', {
      at: new Date(Date.now() - 60_000).toISOString(),
      place: JSON.stringify({ [first!.name]: { violations: 3, examples: ['1'] } }),
    });
    const scrape = await shown();
    const violations = scrape.samples.filter(({ name }) => name === 'darkroom_invariant_violations');
    expect(violations).toHaveLength((await readInvariants()).length);
    expect(violations.filter(({ value }) => value > 0)).toEqual([
      {
        name: 'darkroom_invariant_violations',
        labels: { invariant: 'each_ledger_transaction_has_entries_that_sum_to_zero' },
        value: 3,
      },
    ]);
    expect(scrape.value('darkroom_invariants_checked_seconds')).toBeGreaterThanOrEqual(59);
  });

  it('have no values while the database is away', async () => {
    const db = { prisma: { $queryRaw: () => Promise.reject(new Error('away')) } } as unknown as Db;
    const gauges = createStateGauges(db);
    await gauges.refresh();
    expect(new Scrape(await gauges.registry.metrics()).samples).toEqual([]);
  });

  it('T60 no series is added by jobs: labels are of closed lists', async () => {
    const before = await ofFreshApi();
    expect([...before.keys()].filter((one) => one.startsWith('darkroom_sweep_')).length).toBeGreaterThan(20);
    // Rows as they are, without the calls: only how many there are counts.
    await database.sql(`ALTER TABLE generation DISABLE TRIGGER ALL`);
    try {
      await database.sql(
        `INSERT INTO generation SELECT (jsonb_populate_record(g, jsonb_build_object('id', 'gen_' || lpad(i::text, 26, '0'),
           'idempotency_key', 'k' || i))).* FROM generation g, generate_series(1, 10000) AS i
         WHERE g.id = (SELECT min(id) FROM generation WHERE stage = 'waiting')`,
      );
      const after = await ofFreshApi();
      expect(after.get('darkroom_generations {"stage":"waiting"}')).toBeGreaterThan(10_000);
      expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    } finally {
      await database.sql(`DELETE FROM generation WHERE id LIKE 'gen_0000000%'`);
      await database.sql(`ALTER TABLE generation ENABLE TRIGGER ALL`);
    }
  });
});
