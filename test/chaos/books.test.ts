import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIES } from './all-lies.ts';
import { checkBooks } from './books.ts';
import { violatedNow } from './invariants-now.ts';
import { newFile, ofRow, run } from './lies.ts';
import { playSmallWorld, type SmallWorld } from './small-world.ts';
import type { World } from './types.ts';

const RUNS_MS = 1_500;

let small: SmallWorld;
beforeAll(async () => {
  small = await playSmallWorld();
}, 240_000);
afterAll(() => small?.stop());

describe('the three books of a small world', () => {
  it('agree when nothing went wrong', async () => {
    expect(await checkBooks(small.world)).toEqual([]);
  });

  it('agree while the links of all providers are dead', async () => {
    await Promise.all(
      Object.values(small.room.sims).map((sim) => sim.fault('a small world', { kind: 'link_404' })),
    );
    expect(await checkBooks(small.world)).toEqual([]);
  });

  it.each([
    ['a temporary file of a worker that died', 'tmp/left', { deaths: [{ slot: 'worker-1', atMs: 1_000 }] }],
    ['a temporary file of an API that died', 'tmp/left', { deaths: [{ slot: 'api-2', atMs: 1_000 }] }],
    ['a file of a worker that died', 'gen_left/0-1', { deaths: [{ slot: 'worker-2', atMs: 1_000 }] }],
    [
      'a file whose worker could not reach its database',
      'gen_left/0-1',
      { disturbed: [{ link: 'database of worker-1', fromMs: 0, toMs: 1_000 }] },
    ],
  ])('take %s for what it is', async (_what, path, faults: Partial<Pick<World, 'deaths' | 'disturbed'>>) => {
    const left = await newFile(() => path)(small);
    const writtenMs = Date.now();
    try {
      const { deaths = [], disturbed = [] } = faults;
      const world = {
        ...small.world,
        deaths: deaths.map(({ slot, atMs }) => ({ slot, atMs: writtenMs + atMs })),
        disturbed: disturbed.map(({ link, fromMs, toMs }) => ({
          link,
          fromMs: writtenMs + fromMs,
          toMs: writtenMs + toMs,
        })),
      };
      expect(await checkBooks(world)).toEqual([]);
    } finally {
      await left.undo?.();
    }
  });

  it('take a run that was terminated by us for what it is', async () => {
    const planted = await run('fal', () => 'nothing', true)(small);
    try {
      const endedRuns: string[] = [];
      const query = `WorkflowType = 'generateMedia' AND ExecutionStatus = 'Terminated'`;
      for await (const { runId } of small.room.client.workflow.list({ query })) endedRuns.push(runId);
      expect(await checkBooks({ ...small.world, endedRuns }, { runsMs: RUNS_MS })).toEqual([]);
    } finally {
      await planted.undo?.();
    }
  });

  it('tell under way that a generation waits for a job that nobody knows', async () => {
    const { databaseUrl } = small.world;
    expect(await violatedNow(databaseUrl)).toEqual([]);
    const waits = `completed_at = NULL, error_code = NULL, due_at = now(), state = 'running', stage = 'waiting'`;
    const planted = await ofRow('generation', 'refused', waits)(small);
    try {
      expect(await violatedNow(databaseUrl)).toContainEqual({
        check: 'no invariant is violated under way',
        generation: small.ids.refused,
        problem: `stage waiting or storing means that a handle is present: ${small.ids.refused}`,
      });
    } finally {
      await planted.undo?.();
    }
    expect(await violatedNow(databaseUrl)).toEqual([]);
  });

  it.each(LIES)('find a lie: $name', async ({ foundBy, names, plant }) => {
    const planted = await plant(small);
    try {
      const world = { ...small.world, ...planted.world };
      const found = await checkBooks(world, { runsMs: RUNS_MS });
      expect(new Set(found.map(({ check }) => check)), JSON.stringify(found, null, 1)).toEqual(
        new Set(foundBy),
      );
      const whom = names(small.ids);
      const first = found.filter(({ check }) => check === foundBy[0]);
      expect(first.map(({ generation }) => generation)).toContain(whom);
      expect(found.find(({ generation }) => generation === whom)?.story ?? '').toContain(whom ?? '');
    } finally {
      await planted.undo?.();
    }
  });
});
