import { afterEach, describe, expect, it } from 'vitest';
import {
  claimFileRemovals,
  countFileRemovals,
  deleteOutputs,
  eraseGeneration,
  finishFileRemoval,
  settle,
} from '../../src/db/index.ts';
import type { FileRemoval } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { useDatabase } from './database.ts';
import { generationOf } from './facts.ts';
import { create, newTenant, store, storing } from './fixtures.ts';
import { DAY_MS, HOUR_MS, inputRow, newInput, uses } from './inputs.ts';
import { captured, FAILED, SUCCEEDED } from './money.ts';
import { endedGeneration } from './webhooks.ts';

const test = useDatabase({ poolSize: 16 });
const claim = (limit = 100, leaseMs = 60_000) => claimFileRemovals(test.db, { limit, leaseMs });
const paths = (files: readonly FileRemoval[]) => files.map(({ path }) => path).toSorted();
const stateOf = async (id: string) =>
  (await test.db.prisma.output.findMany({ where: { generationId: id }, orderBy: { index: 'asc' } })).map(
    ({ state }) => state,
  );
const expire = (id: string, index = 0) =>
  test.sql(`UPDATE output SET expires_at = now() WHERE generation_id = $1 AND index = $2`, [id, index]);

// What one test leaves would be claimed by the next.
afterEach(async () => {
  await test.sql(`UPDATE output SET lease_until = NULL WHERE state = 'deleting'`);
  await test.sql(`UPDATE stored_input SET lease_until = NULL WHERE state = 'deleting'`);
  for (const file of await claim(1_000, 0)) await finishFileRemoval(test.db, file);
});

describe('delete_outputs', () => {
  it('by the tenant’s wish, at once: expired for it, the files go soon after; the same when asked again', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const id = await captured(test.db, tenant, 2);
    const of = { generationId: id, tenantId: tenant.id };
    expect(await deleteOutputs(test.db, { ...of, tenantId: other.id })).toEqual({ outcome: 'not_found' });
    expect(await deleteOutputs(test.db, { ...of, generationId: newId('gen') })).toEqual({
      outcome: 'not_found',
    });
    expect(await stateOf(id)).toEqual(['stored', 'stored']);
    expect(await deleteOutputs(test.db, of)).toEqual({ outcome: 'deleting', count: 2 });
    expect(await generationOf(test.db, id)).toMatchObject({ state: 'succeeded', delivery: 'expired' });
    const before = await generationOf(test.db, id);
    expect(await deleteOutputs(test.db, of)).toEqual({ outcome: 'deleting', count: 0 });
    expect(await generationOf(test.db, id)).toEqual(before);
    const files = await claim();
    expect(files.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual(
      [0, 1].map((index) => ({ kind: 'output', generationId: id, index, path: `${id}/${index}-1.mp4` })),
    );
    for (const file of files) await finishFileRemoval(test.db, file);
    expect(await stateOf(id)).toEqual(['deleted', 'deleted']);
    expect(await deleteOutputs(test.db, of)).toEqual({ outcome: 'deleting', count: 0 });
  });

  it('not before the end; nothing to delete of one that failed', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    expect(await deleteOutputs(test.db, { generationId: id, tenantId: tenant.id })).toEqual({
      outcome: 'not_terminal',
    });
    expect(await stateOf(id)).toEqual(['stored']);
    const ended = await endedGeneration(test.db, tenant);
    expect(await deleteOutputs(test.db, { generationId: ended, tenantId: tenant.id })).toEqual({
      outcome: 'deleting',
      count: 0,
    });
    expect(await generationOf(test.db, ended)).toMatchObject({ delivery: 'failed' });
  });
});

describe('outputs whose time is over', () => {
  it('go when it is due and not before; told as expired once nothing is left', async () => {
    const id = await captured(test.db, await newTenant(test.db), 2);
    expect(await claim()).toEqual([]);
    await expire(id, 1);
    const [file, ...more] = await claim();
    expect([file, more]).toMatchObject([{ path: `${id}/1-1.mp4` }, []]);
    expect(await generationOf(test.db, id)).toMatchObject({ delivery: 'stored' });
    await expire(id, 0);
    expect(paths(await claim())).toEqual([`${id}/0-1.mp4`]);
    expect(await generationOf(test.db, id)).toMatchObject({ delivery: 'expired' });
    await finishFileRemoval(test.db, file!);
    const [first, second] = await test.db.prisma.output.findMany({
      where: { generationId: id },
      orderBy: { index: 'asc' },
    });
    expect([first!.deletedAt, second!.deletedAt]).toEqual([null, expect.any(Date)]);
    expect([first!.state, second!.state]).toEqual(['deleting', 'deleted']);
  });

  it('of a generation that has not ended stay, and keep no other from going', async () => {
    const tenant = await newTenant(test.db);
    const open = await storing(test.db, tenant, 2);
    await store(test.db, open, { index: 0, retentionMs: -DAY_MS });
    const ended = await captured(test.db, tenant);
    await expire(ended);
    expect(paths(await claim(1))).toEqual([`${ended}/0-1.mp4`]);
    await store(test.db, open, { index: 1 });
    await settle(test.db, open, SUCCEEDED);
    expect(paths(await claim(1))).toEqual([`${open}/0-1.mp4`]);
  });

  it('of a generation that is being changed come with the next pass', async () => {
    const id = await captured(test.db, await newTenant(test.db));
    await expire(id);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [id]);
    expect(await claim()).toEqual([]);
    await client.query('COMMIT');
    expect(await claim()).toHaveLength(1);
  });
});

describe('inputs whose time is over', () => {
  it('go when it is due, unless a generation still runs on them', async () => {
    const tenant = await newTenant(test.db);
    const [unused, used, later] = [
      await newInput(test.db, tenant, { keepMs: 0 }),
      await newInput(test.db, tenant),
      await newInput(test.db, tenant, { keepMs: HOUR_MS }),
    ];
    const running = await create(test.db, tenant, uses(used));
    await endedGeneration(test.db, tenant, uses(used));
    await test.sql('UPDATE stored_input SET expires_at = now() WHERE id = $1', [used]);
    const files = await claim();
    expect(files).toEqual([{ kind: 'input', inputId: unused, path: `${unused}/0-1` }]);
    await finishFileRemoval(test.db, files[0]!);
    expect(await inputRow(test.db, unused)).toMatchObject({
      state: 'deleted',
      deletedAt: expect.any(Date) as Date,
    });
    await settle(test.db, running, FAILED);
    expect(paths(await claim())).toEqual([`${used}/0-1`]);
    expect(await inputRow(test.db, later)).toMatchObject({ state: 'stored' });
  });
});

describe('the work is shared', () => {
  /** Ended generations whose outputs are to be removed. */
  async function doomed(count: number): Promise<string[]> {
    const tenant = await newTenant(test.db, 10_000);
    const ids = [];
    for (let i = 0; i < count; i += 1) {
      const id = await captured(test.db, tenant);
      await deleteOutputs(test.db, { generationId: id, tenantId: tenant.id });
      ids.push(`${id}/0-1.mp4`);
    }
    return ids.toSorted();
  }

  it('each file is given to one process at a time, again after its lease', async () => {
    const wanted = await doomed(12);
    const rounds = await Promise.all(Array.from({ length: 6 }, () => claim(3)));
    expect(paths(rounds.flat())).toEqual(wanted);
    expect(await claim()).toEqual([]);
    await test.sql(`UPDATE output SET lease_until = now() WHERE state = 'deleting'`);
    expect(paths(await claim())).toEqual(wanted);
    expect(await countFileRemovals(test.db)).toBe(12);
  });

  it('those that could not be removed before come after those that were not tried', async () => {
    const stuck = await doomed(3);
    expect(paths(await claim(100, 0))).toEqual(stuck);
    const fresh = await doomed(2);
    expect(paths(await claim(2, 0))).toEqual(fresh);
    expect(paths(await claim(100))).toEqual([...stuck, ...fresh].toSorted());
  });

  it('a file that is reported twice as gone is gone once', async () => {
    await doomed(1);
    const [file] = await claim();
    await finishFileRemoval(test.db, file!);
    const [before] = await test.sql('SELECT deleted_at FROM output WHERE path = $1', [file!.path]);
    await finishFileRemoval(test.db, file!);
    expect(await test.sql('SELECT deleted_at FROM output WHERE path = $1', [file!.path])).toEqual([before]);
    expect(await countFileRemovals(test.db)).toBe(0);
  });

  it('outputs and inputs of one call each up to the limit', async () => {
    const tenant = await newTenant(test.db);
    await doomed(2);
    const id = await endedGeneration(
      test.db,
      tenant,
      uses(await newInput(test.db, tenant), await newInput(test.db, tenant)),
    );
    await eraseGeneration(test.db, { generationId: id, tenantId: tenant.id });
    expect((await claim(1)).map(({ kind }) => kind).toSorted()).toEqual(['input', 'output']);
  });
});
