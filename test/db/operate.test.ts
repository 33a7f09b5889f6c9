import { beforeEach, describe, expect, it } from 'vitest';
import {
  claimDueGenerations,
  loadGeneration,
  openDb,
  parkGeneration,
  requestCancel,
} from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf } from './facts.ts';
import { finish } from './finish.ts';
import { accepted, create, newTenant, receive, send } from './fixtures.ts';

const test = useDatabase();
/** Long, so that a slow machine makes nothing overdue by itself. */
const GRACE_MS = 60_000;

const sweep = (limit = 100) =>
  claimDueGenerations(test.db, { limit, graceMs: GRACE_MS }).then(({ runs }) => runs);
const idsOf = (runs: readonly { readonly generationId: string }[]) =>
  runs.map(({ generationId }) => generationId);
/** Moves the times of a row into the past, as if nobody had looked for so long. */
const age = (id: string, ms: number) =>
  test.sql(
    `UPDATE generation SET due_at = due_at - $2 * interval '1 ms', wake_requested_at = wake_requested_at - $2 * interval '1 ms' WHERE id = $1`,
    [id, ms],
  );
const dozen = async () => {
  const tenant = await newTenant(test.db, 5_000);
  const ids = await Promise.all(Array.from({ length: 12 }, () => create(test.db, tenant)));
  await Promise.all(ids.map((id) => age(id, 600_000)));
  return ids;
};

// What earlier tests left open is due again at some time.
beforeEach(async () => {
  await test.sql(
    `UPDATE generation SET due_at = now() + interval '1 day', wake_requested_at = NULL WHERE completed_at IS NULL`,
  );
});

describe('claim_due_generations', () => {
  it('finds what is overdue by more than the grace, and nothing else', async () => {
    const tenant = await newTenant(test.db);
    const [fresh, overdue] = [await create(test.db, tenant), await create(test.db, tenant)];
    await age(overdue, GRACE_MS + 1);
    expect(idsOf(await sweep())).toEqual([overdue]);
    expect(await sweep()).toEqual([]);
    await age(fresh, 30_000);
    expect(await sweep()).toEqual([]);
  });

  it('gives each to one of two concurrent sweepers', async () => {
    const ids = await dozen();
    const other = openDb(test.url, { poolSize: 1 });
    try {
      const passes = await Promise.all([
        sweep(),
        claimDueGenerations(other, { limit: 100, graceMs: GRACE_MS }).then(({ runs }) => runs),
      ]);
      expect(idsOf(passes.flat()).toSorted()).toEqual(ids.toSorted());
    } finally {
      await other.close();
    }
  });

  it('gives each once over many passes at once, within the limit of each', async () => {
    const ids = await dozen();
    const passes: string[][] = [];
    while (passes.flat().length < ids.length)
      passes.push(...(await Promise.all(Array.from({ length: 4 }, () => sweep(5)))).map(idsOf));
    expect(passes.every(({ length }) => length <= 5)).toBe(true);
    expect(passes.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('a row that another transaction holds neither stops a pass nor is waited for', async () => {
    const ids = await dozen();
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [ids[0]]);
    // One that waited would end with the error of the statement's time limit.
    expect(idsOf(await sweep()).toSorted()).toEqual(ids.slice(1).toSorted());
    await client.query('ROLLBACK');
    expect(idsOf(await sweep())).toEqual([ids[0]]);
  });

  it('pushes a row that stays overdue back by doubling steps, at most five minutes', async () => {
    const id = await create(test.db, await newTenant(test.db));
    for (const seconds of [5, 10, 20, 40, 80, 160, 300, 300]) {
      await age(id, 3_600_000);
      const from = Date.now();
      expect(idsOf(await sweep())).toEqual([id]);
      const to = Date.now();
      const sweptAt = (await generationOf(test.db, id)).dueAt!.getTime() - seconds * 1_000;
      expect(sweptAt).toBeGreaterThanOrEqual(from - 1);
      expect(sweptAt).toBeLessThanOrEqual(to + 1);
    }
    await loadGeneration(test.db, { generationId: id, dueInMs: 10_000 });
    expect((await generationOf(test.db, id)).sweepCount).toBe(0);
  });

  it('sends a wake that was not taken again, until it is', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await receive(test.db, { submissionId: submissionId(id, 1), terminal: true })).toMatchObject({
      wake: true,
    });
    expect(await sweep()).toEqual([]);
    await age(id, GRACE_MS + 1);
    expect(idsOf(await sweep())).toEqual([id]);
    expect(await sweep()).toEqual([]);
    await age(id, GRACE_MS + 1);
    expect(idsOf(await sweep())).toEqual([id]);
    await loadGeneration(test.db, { generationId: id, dueInMs: 60_000 });
    await age(id, GRACE_MS + 1);
    expect(await sweep()).toEqual([]);
  });

  it('never a row that has ended', async () => {
    const tenant = await newTenant(test.db);
    const ids = [await create(test.db, tenant), await accepted(test.db, tenant)];
    await Promise.all(ids.map((id) => age(id, 600_000)));
    await requestCancel(test.db, { generationId: ids[1]!, tenantId: null, actor: 'operator' });
    for (const id of ids) await finish(test.db, id);
    expect(await sweep()).toEqual([]);
    expect(await generationOf(test.db, ids[1]!)).toMatchObject({ dueAt: null, wakeRequestedAt: null });
  });

  it('tells what a start needs', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await age(id, 600_000);
    expect(await sweep()).toMatchObject([
      {
        generationId: id,
        tenantId: tenant.id,
        model: 'infro-video',
        provider: 'infro',
        method: 'text-to-video',
      },
    ]);
  });
});

describe('park_generation', () => {
  const park = (generationId: string, reason = 'unknown_credential') =>
    parkGeneration(test.db, { generationId, reason, dueInMs: 300_000 });

  it('sets aside with the hold intact; a resume goes on where the rows stand', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await park(id)).toEqual({ terminal: false });
    expect(await park(id, 'again')).toEqual({ terminal: false });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'running',
      stage: 'needs_operator',
      hold: 'held',
    });
    const plain = await loadGeneration(test.db, { generationId: id, dueInMs: 1_000 });
    expect(plain!.generation).toMatchObject({ stage: 'needs_operator', operatorReason: 'again' });
    const resumed = await loadGeneration(test.db, { generationId: id, dueInMs: 1_000, resume: true });
    expect(resumed!.generation).toMatchObject({ stage: 'waiting', operatorReason: null });
    expect((await facts(test.db, id)).events).toEqual(['created', 'stage', 'stage', 'stage', 'stage']);
  });

  it('a parked run that was sending is sending again after the resume', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    await park(id);
    const resumed = await loadGeneration(test.db, { generationId: id, dueInMs: 1_000, resume: true });
    expect(resumed!.generation).toMatchObject({ state: 'queued', stage: 'submitting' });
  });

  it('can be cancelled, and ends like any other', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await park(id);
    expect(
      await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' }),
    ).toMatchObject({
      outcome: 'cancelled',
    });
    expect(await park(id)).toEqual({ terminal: true });
    expect(await park(`gen_${'0'.repeat(26)}`)).toEqual({ terminal: true });
    expect(tally((await facts(test.db, id)).events)).toEqual({
      created: 1,
      stage: 1,
      cancellation: 1,
      terminal: 1,
    });
  });
});
