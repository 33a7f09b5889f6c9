import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunFacts } from '../../src/db/index.ts';
import { reconcileRuns, RUNS_DEFAULTS } from '../../src/services/reconcile-runs.ts';
import type { OnSweepProblem } from '../../src/services/sweep-context.ts';
import { isRunOpen, isTemporalUnavailable } from '../../src/temporal/runs.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, answer, create, newTenant, send } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { temporalAddress } from '../support/stack.ts';

const test = useDatabase();
const NOW = { ...RUNS_DEFAULTS, everyMs: 0 };
let connection: Connection;
let client: Client;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(() => connection.close());

/** Nobody works on this queue: what is started there stays open. */
const start = (workflowId: string) =>
  client.workflow.signalWithStart('stays', {
    taskQueue: 'test-reconcile-runs',
    workflowId,
    signal: 'wake',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
  });

/** The server is everybody's: one slow answer of it is no end of a pass. */
const isOpen = (id: string) =>
  eventually(
    () =>
      isRunOpen(client, id).catch((error: unknown) => {
        if (!isTemporalUnavailable(error)) throw error;
        return undefined;
      }),
    60_000,
  );

function reconciler(over: { readonly isRunOpen?: (id: string) => Promise<boolean> } = {}) {
  const ensured: string[] = [];
  const problems: Parameters<OnSweepProblem>[] = [];
  const ctx = {
    db: test.db,
    ensure: async ({ generationId }: RunFacts) => {
      ensured.push(generationId);
      await start(generationId);
    },
    isRunOpen: isOpen,
    onProblem: (...told: Parameters<OnSweepProblem>) => void problems.push(told),
    signal: new AbortController().signal,
    ...over,
  };
  return { ctx, ensured, problems };
}

async function waiting(seconds = 3_600): Promise<string> {
  const id = await accepted(test.db, await newTenant(test.db));
  await test.sql(`UPDATE generation SET due_at = now() + $2 * interval '1 second' WHERE id = $1`, [
    id,
    seconds,
  ]);
  return id;
}

/** Nothing of an earlier test is looked at. */
const near = () =>
  test.sql(`UPDATE generation SET due_at = now() + interval '1 second' WHERE completed_at IS NULL`);

describe('runs of rows that wait long', () => {
  it('terminated, or not known to Temporal: ensured; one that is open is left alone', async () => {
    await near();
    const [open, terminated, never] = [await waiting(), await waiting(), await waiting()];
    for (const id of [open, terminated]) await start(id);
    await client.workflow.getHandle(terminated).terminate('test');
    const { ctx, ensured, problems } = reconciler();
    expect(await reconcileRuns(ctx, NOW)).toEqual({ checked: 3, ensured: 2, complete: true });
    expect(ensured.toSorted()).toEqual([terminated, never].toSorted());
    expect(problems).toEqual([]);
    for (const id of [open, terminated, never]) expect(await isOpen(id)).toBe(true);
    expect(await reconcileRuns(ctx, NOW)).toEqual({ checked: 3, ensured: 0, complete: true });
  });

  it('a run that is due soon is left to the pass over what is due', async () => {
    await near();
    await waiting(30);
    const { ctx } = reconciler();
    expect(await reconcileRuns(ctx, NOW)).toEqual({ checked: 0, ensured: 0, complete: true });
  });

  it('an unknown submission is asked for in each pass, also when the deadline is near', async () => {
    await near();
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await test.sql(`UPDATE generation SET due_at = now() + interval '40 seconds' WHERE id = $1`, [id]);
    const { ctx, ensured } = reconciler();
    await reconcileRuns(ctx, NOW);
    expect(ensured).toEqual([id]);
  });

  it('a page at a time; the next begins where it ended, and then from the start', async () => {
    await near();
    const ids = [await waiting(), await waiting(), await waiting()].toSorted();
    const asked: string[] = [];
    const { ctx } = reconciler({
      isRunOpen: async (id) => {
        asked.push(id);
        return true;
      },
    });
    for (let pass = 0; pass < 3; pass += 1) await reconcileRuns(ctx, { ...NOW, limit: 2 });
    expect(asked.slice(0, 2).toSorted()).toEqual(ids.slice(0, 2));
    expect(asked.slice(2, 3)).toEqual(ids.slice(2));
    expect(asked.slice(3).toSorted()).toEqual(ids.slice(0, 2));
  });

  it('another process within the interval does nothing', async () => {
    await reconcileRuns(reconciler().ctx, NOW);
    expect(await reconcileRuns(reconciler().ctx, RUNS_DEFAULTS)).toBeNull();
  });

  it('Temporal away: the pass ends quietly, tells it once, and reads the same page again', async () => {
    await near();
    await test.sql(`DELETE FROM sweep_mark`);
    for (let n = 0; n < 3; n += 1) await waiting();
    const lazy = Connection.lazy({ address: '127.0.0.1:1' });
    const nowhere = new Client({ connection: lazy });
    const { ctx, ensured, problems } = reconciler({ isRunOpen: (id) => isRunOpen(nowhere, id) });
    expect(await reconcileRuns(ctx, { ...NOW, limit: 2 })).toEqual({
      checked: 0,
      ensured: 0,
      complete: false,
    });
    expect(problems.map(([pass, problem]) => [pass, problem])).toEqual([['runs', 'temporal_unavailable']]);
    expect(ensured).toEqual([]);
    expect(await test.sql(`SELECT place FROM sweep_mark WHERE place IS NOT NULL`)).toEqual([]);
    await lazy.close();
  });

  it('a page that breaks off goes on at the first run that was not asked for, not at its start', async () => {
    await near();
    await test.sql(`DELETE FROM sweep_mark`);
    const ids = [await waiting(), await waiting(), await waiting(), await waiting()].toSorted();
    const lazy = Connection.lazy({ address: '127.0.0.1:1' });
    const nowhere = new Client({ connection: lazy });
    const broken = reconciler({
      isRunOpen: (id) => (id === ids[2] ? isRunOpen(nowhere, id) : Promise.resolve(true)),
    });
    expect(await reconcileRuns(broken.ctx, { ...NOW, limit: 4 })).toMatchObject({ complete: false });
    const asked: string[] = [];
    const { ctx } = reconciler({
      isRunOpen: async (id) => {
        asked.push(id);
        return true;
      },
    });
    expect(await reconcileRuns(ctx, { ...NOW, limit: 4 })).toMatchObject({ complete: true });
    expect(asked.toSorted()).toEqual(ids.slice(2));
    await lazy.close();
  });

  it('one run that cannot be asked for stops none of the others', async () => {
    await near();
    await test.sql(`DELETE FROM sweep_mark`);
    const [bad, good] = [await waiting(), await waiting()];
    const { ctx, ensured, problems } = reconciler({
      isRunOpen: async (id) => {
        if (id === bad) throw new Error('defect');
        return false;
      },
    });
    expect(await reconcileRuns(ctx, NOW)).toEqual({ checked: 1, ensured: 1, complete: true });
    expect(ensured).toEqual([good]);
    expect(problems.map(([, problem, , key]) => [problem, key])).toEqual([['ensure_failed', bad]]);
  });

  it('what is no fault of Temporal is not taken for one', () => {
    expect(isTemporalUnavailable(new Error('defect'))).toBe(false);
    const cause = Object.assign(new Error('x'), { code: 3, details: 'x', metadata: {} });
    expect(isTemporalUnavailable(cause)).toBe(false);
    expect(isTemporalUnavailable(Object.assign(cause, { code: 14 }))).toBe(true);
  });
});
