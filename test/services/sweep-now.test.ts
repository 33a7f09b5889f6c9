import { expect, it } from 'vitest';
import type { Db } from '../../src/db/index.ts';
import { SWEEP_COUNT_NAMES } from '../../src/domain/sweep.ts';
import { sweepNow } from '../../src/services/sweep-now.ts';
import type { SweepContext } from '../../src/services/sweep-context.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, newTenant, storing, store } from '../db/fixtures.ts';
import { deleteOutputs, settle } from '../../src/db/index.ts';

const test = useDatabase();

function context(over: Partial<SweepContext> = {}): SweepContext {
  return {
    db: test.db,
    ensure: async () => {},
    isRunOpen: async () => true,
    storage: { remove: async () => {} },
    providers: new Map(),
    callbacks: { submissionOf: () => null },
    onProblem: () => {},
    signal: new AbortController().signal,
    ...over,
  };
}

/** The same database whose named functions fail. */
function failing(...names: readonly string[]): Db {
  const call: Db['call'] = (name, ...rest) =>
    names.includes(name) ? Promise.reject(new Error('defect')) : test.db.call(name, ...rest);
  return { ...test.db, call };
}

it('a pass that fails is told, and the others bring what they bring', async () => {
  const id = await accepted(test.db, await newTenant(test.db));
  await test.sql(`UPDATE generation SET due_at = now() + interval '1 hour' WHERE id = $1`, [id]);
  const report = await sweepNow(
    context({ db: failing('claim_due_generations', 'prune_history'), isRunOpen: async () => false }),
  );
  expect(report.failed.toSorted((a, b) => a.pass.localeCompare(b.pass))).toEqual([
    { pass: 'due', problem: 'pass_failed', times: 1, keys: [] },
    { pass: 'history', problem: 'pass_failed', times: 1, keys: [] },
  ]);
  expect(report.counts).toMatchObject({ due_woken: 0, runs_checked: 1, runs_ensured: 1, rows_pruned: 0 });
  expect(Object.keys(report.counts)).toEqual(SWEEP_COUNT_NAMES);
});

it('files are removed; one that cannot be is told and does not count', async () => {
  const tenant = await newTenant(test.db);
  const paths: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    await settle(test.db, id, { state: 'succeeded', errorCode: null });
    await deleteOutputs(test.db, { generationId: id, tenantId: tenant.id });
    paths.push(`${id}/0-1.mp4`);
  }
  const remove = async (path: string) => {
    if (path === paths[0]) throw new Error('storage');
  };
  const { counts, failed } = await sweepNow(context({ storage: { remove } }));
  expect(counts.files_removed).toBe(1);
  expect(failed).toEqual([{ pass: 'files', problem: 'file_not_removed', times: 1, keys: [paths[0]] }]);
});

it('does it now, whoever has done it lately', async () => {
  const asked: string[] = [];
  const isRunOpen = async (id: string) => {
    asked.push(id);
    return true;
  };
  await sweepNow(context({ isRunOpen }));
  await sweepNow(context({ isRunOpen }));
  expect(asked.length).toBeGreaterThanOrEqual(2);
});
