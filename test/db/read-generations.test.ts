import { describe, expect, it } from 'vitest';
import { findGeneration, listGenerations, readEventNumbers, requestCancel } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { accept, create, grant, newTenant, observe, send, store, storing } from './fixtures.ts';

const test = useDatabase();
type GenerationFilter = Parameters<typeof listGenerations>[1];

/** All pages of this size, from the newest on. */
async function pages(filter: Omit<GenerationFilter, 'after'>): Promise<string[][]> {
  const all: string[][] = [];
  for (let after: GenerationFilter['after']; all.length < 50;) {
    const rows = await listGenerations(test.db, { ...filter, after });
    if (rows.length === 0) return all;
    all.push(rows.map(({ id }) => id));
    const last = rows.at(-1)!;
    after = { createdAt: last.createdAt, id: last.id };
  }
  throw new Error('The list does not end.');
}

describe('reading generations', () => {
  it('IDEM-12 the id of another tenant is like an unknown one', async () => {
    const [owner, stranger] = [await newTenant(test.db), await newTenant(test.db)];
    const id = await create(test.db, owner);
    expect(await findGeneration(test.db, owner.id, id)).toMatchObject({
      id,
      hold: { state: 'held' },
      account: 'default',
    });
    expect(await findGeneration(test.db, stranger.id, id)).toBeNull();
    expect(await listGenerations(test.db, { tenantId: stranger.id, limit: 10 })).toEqual([]);
  });

  it('shows only outputs that were stored, in their order', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 3);
    await store(test.db, id, { index: 2 });
    await store(test.db, id, { index: 0 });
    expect((await findGeneration(test.db, tenant.id, id))!.outputs.map(({ index }) => index)).toEqual([0, 2]);
  });

  it('pages newest first, each once, with equal times and inserts between the pages', async () => {
    const tenant = await newTenant(test.db, 5_000);
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.push(await create(test.db, tenant));
    const at = `created_at = '2026-11-29T10:00:00Z'`;
    // Frozen by a trigger, so set behind its back.
    const client = await test.connect();
    await client.query('SET session_replication_role = replica');
    await client.query(`UPDATE generation SET ${at} WHERE id = ANY($1)`, [ids.slice(0, 4)]);
    expect((await pages({ tenantId: tenant.id, limit: 2 })).flat()).toEqual([
      ...ids.slice(4).toReversed(),
      ...ids.slice(0, 4).toSorted().toReversed(),
    ]);
    const [first] = await listGenerations(test.db, { tenantId: tenant.id, limit: 1 });
    await create(test.db, tenant);
    const rest = await listGenerations(test.db, { tenantId: tenant.id, limit: 10, after: first! });
    expect(rest.map(({ id }) => id)).not.toContain(first!.id);
    expect(rest).toHaveLength(6);
  });

  it('filters by account, state, model and time', async () => {
    const tenant = await newTenant(test.db);
    await grant(test.db, tenant, 500, 'g', 'user-1');
    const mine = await create(test.db, tenant);
    const user = await create(test.db, tenant, { account: 'user-1', model: 'infro-video-polled' });
    await requestCancel(test.db, { generationId: mine, tenantId: tenant.id, actor: 'tenant' });
    const ids = async (filter: Partial<GenerationFilter>) =>
      (await listGenerations(test.db, { tenantId: tenant.id, limit: 10, ...filter })).map(({ id }) => id);
    expect(await ids({ account: 'user-1' })).toEqual([user]);
    expect(await ids({ state: 'cancelled' })).toEqual([mine]);
    expect(await ids({ model: 'infro-video-polled' })).toEqual([user]);
    expect(await ids({ createdAfter: new Date(Date.now() + 60_000) })).toEqual([]);
    expect(await ids({ createdAfter: new Date(Date.now() - 60_000) })).toHaveLength(2);
  });

  it('the event number moves with every change that a reader would see', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    const seen = new Set<number | undefined>();
    const look = async () => seen.add((await readEventNumbers(test.db, [id])).get(id));
    await look();
    await send(test.db, id);
    await look();
    await accept(test.db, id);
    await look();
    await observe(test.db, id, 'running', { progress: 0.5 });
    await look();
    await observe(test.db, id, 'succeeded');
    await look();
    expect(seen.size).toBe(5);
    await look();
    expect(seen.size).toBe(5);
  });
});
