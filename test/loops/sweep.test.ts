import { ServiceError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { readSweepStates } from '../../src/db/states.ts';
import { runSweep, SWEEP_INTERVALS } from '../../src/loops/sweep.ts';
import { sweepDue } from '../../src/services/sweep-due.ts';
import type { OnSweepProblem, SweepContext } from '../../src/services/sweep-context.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, newTenant, receive } from '../db/fixtures.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { eventually } from '../simulators/control.ts';

const test = useDatabase();
const row = (id: string) => test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
const overdue = (ids: readonly string[]) =>
  test.sql(`UPDATE generation SET due_at = now() - interval '1 minute' WHERE id = ANY ($1)`, [ids]);
const backlog = async () => (await readSweepStates(test.db, 5_000)).backlog;

/** Everything that came before is left for an hour. */
async function quiet(): Promise<void> {
  await test.sql(
    `UPDATE generation SET due_at = now() + interval '1 hour', wake_requested_at = NULL, sweep_count = 0 WHERE completed_at IS NULL`,
  );
}

/** As the client tells that Temporal does not answer. */
function away(): Error {
  const cause = Object.assign(new Error('away'), { code: 14, details: 'away', metadata: {} });
  return new ServiceError('away', { cause });
}

function sweeper(fail: (id: string) => Error | null) {
  const ensured: string[] = [];
  const problems: (readonly [string, string | null])[] = [];
  const onProblem: OnSweepProblem = (_pass, problem, _error, key) => problems.push([problem, key]);
  const ctx = {
    db: test.db,
    ensure: async ({ generationId }: { generationId: string }) => {
      const error = fail(generationId);
      if (error !== null) throw error;
      ensured.push(generationId);
    },
    onProblem,
  };
  return { ctx, ensured, problems };
}

describe('K3 a backlog with a poisoned row', () => {
  it('all others are woken once by two sweepers, the poisoned one is set aside and counted, the backlog is true', async () => {
    await quiet();
    const tenant = await newTenant(test.db, 250 * 100);
    const ids: string[] = [];
    while (ids.length < 250) {
      const some = Array.from({ length: 5 }, () => create(test.db, tenant));
      ids.push(...(await Promise.all(some)));
    }
    const poison = ids[0]!;
    await overdue(ids);
    await test.sql(`UPDATE generation SET due_at = now() - interval '1 day' WHERE id = $1`, [poison]);
    const { ctx, ensured, problems } = sweeper((id) => (id === poison ? new Error('poison') : null));

    expect(await sweepDue(ctx)).toEqual({ due: 200, woken: 199, parked: 0, setAside: 1 });
    expect(await backlog()).toBe(50);
    const both = async () => {
      await eventually(async () => {
        await sweepDue(ctx, { graceMs: 5_000, limit: 20 });
        return (await backlog()) === 0 ? true : undefined;
      }, 60_000);
    };
    await Promise.all([both(), both()]);
    // Only what was pushed back for five seconds and is due again may have come twice by now.
    expect(new Set(ensured)).toEqual(new Set(ids.slice(1)));
    const counts = await test.sql<{ id: string; sweep_count: number }>(
      `SELECT id, sweep_count FROM generation WHERE id = ANY ($1)`,
      [ids],
    );
    const times = (id: string) => ensured.filter((one) => one === id).length;
    for (const { id, sweep_count: swept } of counts)
      if (id !== poison) expect([id, swept]).toEqual([id, times(id)]);
    expect(problems[0]).toEqual(['ensure_failed', poison]);
    expect(problems.every(([problem, id]) => problem === 'ensure_failed' && id === poison)).toBe(true);
  });

  it('the poisoned row comes again after growing pauses and is told as stubborn', async () => {
    await quiet();
    const id = await create(test.db, await newTenant(test.db));
    const { ctx } = sweeper(() => new Error('poison'));
    for (let pass = 1; pass <= 3; pass += 1) {
      await overdue([id]);
      const before = Math.floor(await clock());
      expect((await sweepDue(ctx)).setAside).toBe(1);
      const { sweepCount, dueAt } = await row(id);
      expect(sweepCount).toBe(pass);
      const pauseMs = 5_000 * 2 ** (pass - 1);
      expect(dueAt!.getTime() - before).toBeGreaterThanOrEqual(pauseMs);
      expect(dueAt!.getTime() - (await clock())).toBeLessThanOrEqual(pauseMs + 1);
    }
    expect((await readSweepStates(test.db, 5_000)).stubborn).toBe(1);
  });

  it('while Temporal is away nothing counts, and all is due again', async () => {
    await quiet();
    const tenant = await newTenant(test.db);
    const ids = [await create(test.db, tenant), await create(test.db, tenant)];
    await overdue(ids);
    const { ctx, problems } = sweeper(away);
    expect(await sweepDue(ctx)).toEqual({ due: 2, woken: 0, parked: 0, setAside: 0 });
    for (const id of ids) {
      const { sweepCount, dueAt } = await row(id);
      expect(sweepCount).toBe(0);
      expect(dueAt!.getTime()).toBeLessThanOrEqual(Math.ceil(await clock()));
    }
    expect(problems.map(([problem]) => problem)).toEqual(['temporal_unavailable', 'temporal_unavailable']);
  });
});

async function clock(): Promise<number> {
  const [now] = await test.sql<{ ms: string }>(`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms`);
  return Number(now!.ms);
}

describe('the loop', () => {
  /** Runs it with everything at once, until `done`. */
  async function looped(over: Partial<SweepContext>, done: () => Promise<boolean> | boolean): Promise<void> {
    const stop = new AbortController();
    const ctx = {
      ...sweeper(() => null).ctx,
      isRunOpen: async () => true,
      storage: { remove: async () => {} },
      providers: new Map(),
      callbacks: { submissionOf: () => null },
      ...over,
    };
    const fast = { due: 20, inbox: 20, runs: 20, jobs: 20, invariants: 20 };
    const loop = runSweep(ctx, stop.signal, fast);
    try {
      await eventually(async () => ((await done()) ? true : undefined), 60_000);
    } finally {
      stop.abort();
      await loop;
    }
  }

  it('makes every pass; one that fails each time stops no other, and the process goes on', async () => {
    await quiet();
    const tenant = await newTenant(test.db);
    const lost = await accepted(test.db, tenant);
    const unread = await accepted(test.db, tenant);
    await receive(test.db, { submissionId: submissionId(unread, 1), terminal: true });
    await test.sql(`UPDATE callback SET received_at = now() - interval '1 hour' WHERE submission_id = $1`, [
      submissionId(unread, 1),
    ]);
    await test.sql(`UPDATE submission SET accepted_at = now() - interval '1 hour' WHERE id = $1`, [
      submissionId(unread, 1),
    ]);
    await quiet();
    const ensured = new Set<string>();
    const problems = new Set<string>();
    const failing = new Proxy(test.db, {
      get: (db, name) =>
        name === 'call'
          ? (fn: string, ...rest: Parameters<typeof db.call> extends [string, ...infer R] ? R : never) =>
              fn === 'claim_due_generations' ? Promise.reject(new Error('defect')) : db.call(fn, ...rest)
          : (Reflect.get(db, name) as unknown),
    });
    await looped(
      {
        db: failing,
        ensure: async ({ generationId }) => void ensured.add(generationId),
        isRunOpen: async (id) => id !== lost,
        onProblem: (pass, problem) => problems.add(`${pass} ${problem}`),
      },
      async () =>
        ensured.has(lost) &&
        ensured.has(unread) &&
        problems.has('due pass_failed') &&
        (await test.sql(`SELECT 1 FROM sweep_mark WHERE name = 'invariants' AND at IS NOT NULL`)).length ===
          1,
    );
    expect([...problems]).toEqual(['due pass_failed']);
  });

  it('has its intervals from the design', () => {
    expect(SWEEP_INTERVALS).toEqual({
      due: 2_000,
      inbox: 10_000,
      runs: 60_000,
      jobs: 600_000,
      invariants: 60_000,
    });
  });
});
