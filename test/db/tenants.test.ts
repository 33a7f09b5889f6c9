import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { revokeKey } from '../../src/db/administer.ts';
import { findApiKey, insertApiKey, listTenants } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { newTenant } from './fixtures.ts';

const test = useDatabase();
const hash = (text: string) => createHash('sha256').update(text).digest();

async function key(
  id: string,
  over: { tenantId?: string | null; scopes?: string[]; secret?: Uint8Array } = {},
) {
  const tenantId = over.tenantId === undefined ? (await newTenant(test.db, 0)).id : over.tenantId;
  const stored = {
    id,
    tenantId,
    secretSha256: over.secret ?? hash(id),
    scopes: over.scopes ?? ['generations'],
  };
  await insertApiKey(test.db, { ...stored, label: '' });
  return stored;
}

describe('API keys', () => {
  it('are found as they were stored, until they are revoked, once', async () => {
    const stored = await key('k1');
    const found = await findApiKey(test.db, 'k1');
    expect(found).toMatchObject({ id: 'k1', tenantId: stored.tenantId, scopes: ['generations'] });
    expect(Buffer.from(found!.secretSha256).equals(hash('k1'))).toBe(true);
    expect(await revokeKey(test.db, 'k1', { actor: 'cli:test', reason: 'test' })).toBe(true);
    expect(await findApiKey(test.db, 'k1')).toBeNull();
    expect(await revokeKey(test.db, 'k1', { actor: 'cli:test', reason: 'test' })).toBe(false);
    expect(await findApiKey(test.db, 'none')).toBeNull();
  });

  it('end at their time, by the clock of the database', async () => {
    await key('k2');
    await test.sql(`UPDATE api_key SET expires_at = now() + interval '1 hour' WHERE id = 'k2'`);
    expect(await findApiKey(test.db, 'k2')).not.toBeNull();
    await test.sql(`UPDATE api_key SET expires_at = now() WHERE id = 'k2'`);
    expect(await findApiKey(test.db, 'k2')).toBeNull();
  });

  it.each([
    ['an operator scope for a tenant', { scopes: ['admin'] }, /api_key_tenant_or_operator/],
    ['a tenant scope for an operator', { tenantId: null }, /api_key_tenant_or_operator/],
    ['an unknown scope', { scopes: ['everything'] }, /api_key_scopes_known/],
    ['no scope', { scopes: [] }, /api_key_scopes_known/],
    ['a hash of another length', { secret: new Uint8Array(20) }, /api_key_hash_length/],
  ])('%s is refused', async (name, over, message) => {
    await expect(key(name, over)).rejects.toThrow(message);
  });
});

describe('tenants', () => {
  it('are listed in the order of their creation, each with a default account', async () => {
    const [one, two] = [await newTenant(test.db), await newTenant(test.db)];
    expect((await listTenants(test.db)).map(({ id }) => id).slice(-2)).toEqual([one.id, two.id]);
    expect(await test.sql(`SELECT name, kind FROM ledger_account WHERE tenant_id = $1`, [one.id])).toEqual([
      { name: 'default', kind: 'tenant' },
    ]);
  });

  it('of one moment are listed in one order, whatever was written last', async () => {
    const ids = [await newTenant(test.db, 0), await newTenant(test.db, 0), await newTenant(test.db, 0)]
      .map(({ id }) => id)
      .toSorted();
    for (const id of ids.toReversed()) {
      await test.sql(`UPDATE tenant SET created_at = '2027-01-01T00:00:00Z' WHERE id = $1`, [id]);
    }
    expect((await listTenants(test.db)).map(({ id }) => id).slice(-3)).toEqual(ids);
  });
});
