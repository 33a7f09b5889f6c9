import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { deleteOutputs, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import {
  HOUSEKEEPING_DEFAULTS,
  runHousekeeping,
  type HousekeepingDeps,
  type HousekeepingOptions,
} from '../../src/loops/housekeeping.ts';
import { housekeepingMetrics } from '../../src/metrics/housekeeping-metrics.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import type { Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, receive, store, storing } from '../db/fixtures.ts';
import { SUCCEEDED } from '../db/money.ts';
import { endedGeneration } from '../db/webhooks.ts';
import { Scrape } from '../metrics/samples.ts';
import { eventually } from '../simulators/control.ts';

const test = useDatabase();
const NEVER = 3_600_000;
/** Each pass soon and often, nothing kept. */
const QUICK: HousekeepingOptions = {
  ...HOUSEKEEPING_DEFAULTS,
  filesEveryMs: 20,
  pruneEveryMs: 20,
  keepMs: 0,
  unmatchedKeepMs: 0,
  orphansEveryMs: 20,
};
let root: string;
let storage: Storage;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'darkroom-housekeeping-'));
  storage = createFilesystemStorage(root);
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

/** Runs the loop until the test is over; what it could not do. */
function keepHouse(options: Partial<HousekeepingOptions>, over: Partial<HousekeepingDeps> = {}) {
  const problems: string[] = [];
  const stop = new AbortController();
  const running = runHousekeeping(
    {
      db: test.db,
      storage,
      random: () => 0,
      onProblem: (problem, _error, path) => problems.push(`${problem} ${path}`),
      ...over,
    },
    stop.signal,
    { ...QUICK, ...options },
  );
  const end = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  return { problems, end };
}

async function write(path: string, ageHours = 0): Promise<string> {
  const file = await storage.create(path);
  await file.write(Buffer.from('bytes'));
  await file.commit();
  const then = new Date(Date.now() - ageHours * 3_600_000);
  await utimes(join(root, path), then, then);
  return path;
}
async function doomed(): Promise<string> {
  const tenant = await newTenant(test.db);
  const id = await storing(test.db, tenant);
  const path = await write(`${id}/0-1`);
  await store(test.db, id, { path });
  await settle(test.db, id, SUCCEEDED);
  await deleteOutputs(test.db, { generationId: id, tenantId: tenant.id });
  return path;
}
const whenDeleted = (path: string) =>
  eventually(async () => {
    const row = await test.db.prisma.output.findUniqueOrThrow({ where: { path } });
    return row.state === 'deleted' ? true : undefined;
  });
const count = (name: string, labels = {}) =>
  housekeepingMetrics.metrics().then((text) => new Scrape(text).value(name, labels)!);
const counted = async () => ({
  outputs: await count('darkroom_files_removed_total', { kind: 'output' }),
  orphans: await count('darkroom_files_removed_total', { kind: 'orphan' }),
  events: await count('darkroom_pruned_rows_total', { table: 'generation_event' }),
  callbacks: await count('darkroom_pruned_rows_total', { table: 'callback' }),
});

describe('housekeeping', () => {
  it('removes files that were deleted, again and again, more than fit into one pass', async () => {
    const before = await counted();
    const first = await doomed();
    const { problems } = keepHouse({ fileLimit: 1, pruneEveryMs: NEVER, orphansEveryMs: NEVER });
    await whenDeleted(first);
    for (const path of await Promise.all([doomed(), doomed(), doomed()])) await whenDeleted(path);
    expect(problems).toEqual([]);
    await eventually(async () => ((await counted()).outputs === before.outputs + 4 ? true : undefined));
    await eventually(async () => ((await count('darkroom_file_removals_waiting')) === 0 ? true : undefined));
  });

  it('a file that can’t be removed is told of and waits, the others go', async () => {
    const [stuck, other] = [await doomed(), await doomed()];
    const broken: HousekeepingDeps['storage'] = {
      ...storage,
      remove: (path) => (path === stuck ? Promise.reject(new Error('EACCES')) : storage.remove(path)),
    };
    const { problems, end } = keepHouse({ pruneEveryMs: NEVER, orphansEveryMs: NEVER }, { storage: broken });
    await whenDeleted(other);
    await eventually(async () => ((await count('darkroom_file_removals_waiting')) === 1 ? true : undefined));
    await end();
    expect(problems).toEqual([`file_not_removed ${stuck}`]);
    await test.sql(`UPDATE output SET lease_until = NULL WHERE state = 'deleting'`);
    keepHouse({ pruneEveryMs: NEVER, orphansEveryMs: NEVER });
    await whenDeleted(stuck);
  });

  it('prunes old history, pass after pass while there is more', async () => {
    const before = await counted();
    const tenant = await newTenant(test.db);
    const ids = [await endedGeneration(test.db, tenant), await endedGeneration(test.db, tenant)];
    await receive(test.db, { submissionId: null, jobId: 'nobody' });
    const { problems } = keepHouse({ pruneLimit: 1, filesEveryMs: NEVER, orphansEveryMs: NEVER });
    await eventually(async () => {
      const left = await test.db.prisma.generationEvent.count({ where: { generationId: { in: ids } } });
      return left === 2 ? true : undefined;
    });
    await eventually(async () => {
      const { events, callbacks } = await counted();
      return events >= before.events + 2 && callbacks === before.callbacks + 1 ? true : undefined;
    });
    expect(problems).toEqual([]);
  });

  it('removes old files without a row; of a storage that seems to be another’s none', async () => {
    const before = await counted();
    await write(`${newId('gen')}/0-1`, 26);
    const young = await write(`${newId('gen')}/0-1`, 24);
    const { problems, end } = keepHouse({ filesEveryMs: NEVER, pruneEveryMs: NEVER });
    await eventually(async () => ((await counted()).orphans === before.orphans + 1 ? true : undefined));
    expect(await storage.stat(young)).not.toBeNull();
    await end();
    expect(problems).toEqual([]);
    await Promise.all(Array.from({ length: 21 }, () => write(`${newId('gen')}/0-1`, 26)));
    const foreign = keepHouse({ filesEveryMs: NEVER, pruneEveryMs: NEVER });
    await eventually(() => foreign.problems[0]);
    expect(foreign.problems[0]).toBe('storage_of_another_database null');
    expect((await counted()).orphans).toBe(before.orphans + 1);
  });

  it('goes on after a pass that failed, each kind by itself', async () => {
    let broken = true;
    const failing: Db = {
      ...test.db,
      call: (...args) => (broken ? Promise.reject(new Error('away')) : test.db.call(...args)),
    };
    const path = await doomed();
    const { problems } = keepHouse({}, { db: failing });
    await eventually(() => {
      const kinds = new Set(problems);
      return kinds.has('removals_failed null') && kinds.has('pruning_failed null') ? true : undefined;
    });
    broken = false;
    await whenDeleted(path);
  });

  it('waits a part of its time before the first pruning and the first search for orphans', async () => {
    await write(`${newId('gen')}/0-1`, 26);
    await receive(test.db, { submissionId: null, jobId: 'nobody-2' });
    const path = await doomed();
    keepHouse({ pruneEveryMs: NEVER, orphansEveryMs: NEVER }, { random: () => 0.5 });
    await whenDeleted(path);
    expect(await test.db.prisma.callback.count({ where: { providerJobId: 'nobody-2' } })).toBe(1);
  });

  it('its times: files every 10 s, pruning every 10 minutes after 30 and 7 days, orphans every 6 h', () => {
    expect(HOUSEKEEPING_DEFAULTS).toMatchObject({
      filesEveryMs: 10_000,
      pruneEveryMs: 600_000,
      keepMs: 2_592_000_000,
      unmatchedKeepMs: 604_800_000,
      pruneLimit: 1_000,
      orphansEveryMs: 21_600_000,
    });
  });
});
