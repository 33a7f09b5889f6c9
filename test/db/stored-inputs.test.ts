import { describe, expect, it } from 'vitest';
import {
  claimFileRemovals,
  createGeneration,
  eraseGeneration,
  finishFileRemoval,
  recordInput,
  setRetention,
} from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { tally, useDatabase } from './database.ts';
import { create, newGeneration, newTenant } from './fixtures.ts';
import { DAY_MS, HOUR_MS, inputOf, inputRow, newInput, uses } from './inputs.ts';
import { endedGeneration } from './webhooks.ts';
import { untilWaiting } from './waiting.ts';

const test = useDatabase({ poolSize: 16 });
/** From the database's own times, which are one call apart. */
const keptMs = (row: { createdAt: Date; expiresAt: Date }) =>
  row.expiresAt.getTime() - row.createdAt.getTime();

describe('record_input', () => {
  it('once per tenant and key, however many upload at once; other bytes under the key are refused', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const upload = (over: object = {}) =>
      recordInput(test.db, { ...inputOf(tenant), idempotencyKey: 'k', ...over });
    const answers = await Promise.all(Array.from({ length: 10 }, () => upload()));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 1, replayed: 9 });
    const [inputId] = new Set(answers.map((answer) => answer.inputId));
    expect(await upload({ sha256: 'cd'.repeat(32) })).toEqual({ outcome: 'key_reuse', inputId });
    expect(await upload({ tenantId: other.id })).toMatchObject({ outcome: 'created' });
    expect(await test.db.prisma.storedInput.count({ where: { tenantId: tenant.id } })).toBe(1);
  });

  it('without a key each is a new one', async () => {
    const tenant = await newTenant(test.db);
    const ids = await Promise.all([newInput(test.db, tenant), newInput(test.db, tenant)]);
    expect(new Set(ids).size).toBe(2);
  });

  it('a key is free again once its input is removed', async () => {
    const tenant = await newTenant(test.db);
    const first = await newInput(test.db, tenant, { idempotencyKey: 'again', keepMs: 0 });
    const removals = await claimFileRemovals(test.db, { limit: 10, leaseMs: 0 });
    expect(removals).toContainEqual({ kind: 'input', inputId: first, path: `${first}/0-1` });
    const second = await newInput(test.db, tenant, { idempotencyKey: 'again' });
    for (const file of removals) await finishFileRemoval(test.db, file);
    expect(await inputRow(test.db, first)).toMatchObject({ state: 'deleted', idempotencyKey: null });
    expect(await inputRow(test.db, second)).toMatchObject({ state: 'stored', idempotencyKey: 'again' });
  });

  it('an upload is kept as long as its tenant has set, a fetched file as long as it was told', async () => {
    const tenant = await newTenant(test.db);
    const kept = async (source: 'upload' | 'url') =>
      keptMs(await inputRow(test.db, await newInput(test.db, tenant, { source, keepMs: HOUR_MS })));
    expect([await kept('upload'), await kept('url')]).toEqual([HOUR_MS, HOUR_MS]);
    const by = { actor: 'test', reason: 'test' };
    await setRetention(test.db, { tenantId: tenant.id, retentionHours: 48, ...by });
    expect([await kept('upload'), await kept('url')]).toEqual([2 * DAY_MS, HOUR_MS]);
  });

  it('of a tenant that does not exist, nothing', async () => {
    const nobody = { ...inputOf({ id: newId('ten'), accountId: '' }), idempotencyKey: 'k' };
    await expect(recordInput(test.db, nobody)).rejects.toThrow(/there is no tenant/);
  });
});

describe('inputs of a new generation', () => {
  it('are tied to it and kept a day beyond its deadline and the time of its outputs', async () => {
    const tenant = await newTenant(test.db);
    const ids = [await newInput(test.db, tenant, { keepMs: HOUR_MS }), await newInput(test.db, tenant)];
    await test.sql(`UPDATE stored_input SET expires_at = now() + interval '5 years' WHERE id = $1`, [ids[1]]);
    const long = (await inputRow(test.db, ids[1]!)).expiresAt;
    const id = await create(test.db, tenant, { ...uses(...ids), retentionMs: 3 * DAY_MS });
    const { deadlineAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    expect((await inputRow(test.db, ids[0]!)).expiresAt.getTime()).toBe(deadlineAt.getTime() + 4 * DAY_MS);
    expect((await inputRow(test.db, ids[1]!)).expiresAt).toEqual(long);
    const links = await test.db.prisma.generationInput.findMany({
      where: { generationId: id },
      orderBy: { field: 'asc' },
    });
    expect(links.map(({ field, inputId }) => [field, inputId])).toEqual([
      ['image_url_0', ids[0]],
      ['image_url_1', ids[1]],
    ]);
  });

  it('the same one for two fields, and for many generations', async () => {
    const tenant = await newTenant(test.db);
    const inputId = await newInput(test.db, tenant);
    await create(test.db, tenant, uses(inputId, inputId));
    await create(test.db, tenant, uses(inputId));
    expect(await test.db.prisma.generationInput.count({ where: { inputId } })).toBe(3);
  });

  it.each(['another tenant’s', 'unknown', 'deleting', 'deleted'])(
    'one that is %s refuses it, and leaves nothing: no row, no hold, a free key',
    async (how) => {
      const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
      const good = await newInput(test.db, tenant, { keepMs: HOUR_MS });
      const bad =
        how === 'unknown'
          ? newId('inp')
          : await newInput(test.db, how.startsWith('another') ? other : tenant);
      if (how.startsWith('delet')) {
        await test.sql(
          `UPDATE stored_input SET state = $2, deleted_at = CASE WHEN $2 = 'deleted' THEN now() END WHERE id = $1`,
          [bad, how],
        );
      }
      const before = await inputRow(test.db, good);
      const wanted = newGeneration(tenant, {
        inputs: [...uses(good).inputs, { field: 'end_image_url', inputId: bad }],
      });
      expect(await createGeneration(test.db, wanted)).toEqual({
        outcome: 'unknown_input',
        field: 'end_image_url',
      });
      expect(await test.db.prisma.generation.count({ where: { tenantId: tenant.id } })).toBe(0);
      expect(await test.db.prisma.generationInput.count({ where: { inputId: good } })).toBe(0);
      expect((await inputRow(test.db, good)).state).toBe(before.state);
      const again = { ...wanted, inputs: uses(good).inputs };
      expect(await createGeneration(test.db, again)).toMatchObject({ outcome: 'created' });
    },
  );

  it('one that is being removed in this moment is not there any more', async () => {
    const tenant = await newTenant(test.db);
    const inputId = await newInput(test.db, tenant);
    const erased = await endedGeneration(test.db, tenant, uses(inputId));
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT erase_generation($1::jsonb)', [
      JSON.stringify({ generationId: erased, tenantId: tenant.id }),
    ]);
    const creating = createGeneration(test.db, newGeneration(tenant, uses(inputId)));
    await untilWaiting(test, 1);
    await client.query('COMMIT');
    expect(await creating).toEqual({ outcome: 'unknown_input', field: 'image_url_0' });
  });

  it('one that a new generation takes in this moment is not removed', async () => {
    const tenant = await newTenant(test.db);
    const inputId = await newInput(test.db, tenant);
    const erased = await endedGeneration(test.db, tenant, uses(inputId));
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT create_generation($1::jsonb)', [
      JSON.stringify(newGeneration(tenant, uses(inputId))),
    ]);
    const erasing = eraseGeneration(test.db, { generationId: erased, tenantId: tenant.id });
    await untilWaiting(test, 1);
    await client.query('COMMIT');
    expect(await erasing).toEqual({ outcome: 'erased' });
    expect(await inputRow(test.db, inputId)).toMatchObject({ state: 'stored' });
  });
});
