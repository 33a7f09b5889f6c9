import { describe, expect, it } from 'vitest';
import {
  claimFileRemovals,
  findOutputFile,
  liveSecretKeyIds,
  rotateLinks,
  rotateWebhookSecret,
  setRetention,
  settle,
} from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { useDatabase } from './database.ts';
import { newTenant, store, storing } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { DAY_MS, HOUR_MS } from './inputs.ts';
import { captured, SUCCEEDED } from './money.ts';
import { newDefaultSecret } from './webhooks.ts';

const test = useDatabase();
const by = { actor: 'cli:ann', reason: 'asked for' };
const actionsOf = (tenant: Tenant) =>
  test.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });

describe('set_retention', () => {
  it('counts for what is stored from now on; null is the default again; on record', async () => {
    const tenant = await newTenant(test.db);
    const set = (retentionHours: number | null) =>
      setRetention(test.db, { tenantId: tenant.id, retentionHours, ...by });
    const keptMs = async () => {
      const id = await storing(test.db, tenant);
      await store(test.db, id, { retentionMs: 30 * DAY_MS });
      const [output] = await test.db.prisma.output.findMany({ where: { generationId: id } });
      return output!.expiresAt!.getTime() - output!.storedAt!.getTime();
    };
    const before = await captured(test.db, tenant);
    const expiry = () => test.sql('SELECT expires_at FROM output WHERE generation_id = $1', [before]);
    const promised = await expiry();
    expect(await keptMs()).toBe(30 * DAY_MS);
    expect(await set(24)).toBe(true);
    expect(await keptMs()).toBe(24 * HOUR_MS);
    expect(await expiry()).toEqual(promised);
    expect(await set(null)).toBe(true);
    expect(await keptMs()).toBe(30 * DAY_MS);
    expect(await actionsOf(tenant)).toMatchObject([
      { kind: 'retention', ...by, detail: { hours: 24 } },
      { kind: 'retention', ...by, detail: { hours: null } },
    ]);
  });

  it.each([23, 87_601])('%i hours are refused', async (retentionHours) => {
    const tenant = await newTenant(test.db);
    await expect(setRetention(test.db, { tenantId: tenant.id, retentionHours, ...by })).rejects.toThrow(
      /tenant_retention_range/,
    );
    expect(await actionsOf(tenant)).toEqual([]);
  });

  it('there must be such a tenant', async () => {
    expect(await setRetention(test.db, { tenantId: newId('ten'), retentionHours: 24, ...by })).toBe(false);
    expect(await rotateLinks(test.db, { tenantId: newId('ten'), overlapMs: 0, ...by })).toBe(false);
  });
});

describe('rotate_links', () => {
  it('SURL links made before count until the overlap is over, those before them no more; on record', async () => {
    const tenant = await newTenant(test.db);
    const id = await captured(test.db, tenant);
    const versions = async () => (await findOutputFile(test.db, id, 0))!.signer.linkVersions;
    const rotate = (overlapMs: number) => rotateLinks(test.db, { tenantId: tenant.id, overlapMs, ...by });
    expect(await versions()).toEqual([1]);
    expect(await rotate(DAY_MS)).toBe(true);
    expect(await versions()).toEqual([2, 1]);
    await test.sql('UPDATE tenant SET previous_links_until = now() WHERE id = $1', [tenant.id]);
    expect(await versions()).toEqual([2]);
    await rotate(DAY_MS);
    await rotate(DAY_MS);
    expect(await versions()).toEqual([4, 3]);
    await rotate(0);
    expect(await versions()).toEqual([5]);
    expect(await actionsOf(tenant)).toMatchObject([
      { kind: 'rotate_links', ...by, detail: { overlapMs: DAY_MS } },
      { detail: { overlapMs: DAY_MS } },
      { detail: { overlapMs: DAY_MS } },
      { detail: { overlapMs: 0 } },
    ]);
  });
});

describe('keys under which secrets are sealed', () => {
  it('those that may still sign, each once', async () => {
    const tenant = await newTenant(test.db);
    const rotate = (keyId: string, overlapMs: number) =>
      rotateWebhookSecret(
        test.db,
        { tenantId: tenant.id, endpointId: null, keyId, overlapMs },
        Buffer.from('x'),
      );
    await newDefaultSecret(test.db, tenant);
    await newDefaultSecret(test.db, await newTenant(test.db));
    expect(await liveSecretKeyIds(test.db)).toEqual(['k1']);
    await rotate('k2', DAY_MS);
    expect(await liveSecretKeyIds(test.db)).toEqual(['k1', 'k2']);
    await rotate('k3', 0);
    await test.sql(`UPDATE webhook_secret SET expires_at = now() WHERE key_id = 'k1'`);
    expect(await liveSecretKeyIds(test.db)).toEqual(['k3']);
  });
});

describe('how long outputs are kept', () => {
  it('counts from the end, though one was stored a day before another', async () => {
    const id = await storing(test.db, await newTenant(test.db), 2);
    await store(test.db, id, { index: 0, retentionMs: DAY_MS });
    await test.sql(
      `UPDATE output SET stored_at = stored_at - interval '1 day', expires_at = expires_at - interval '1 day'
       WHERE generation_id = $1 AND index = 0`,
      [id],
    );
    await store(test.db, id, { index: 1, retentionMs: DAY_MS });
    await settle(test.db, id, SUCCEEDED);
    const { completedAt, outputs } = await test.db.prisma.generation.findUniqueOrThrow({
      where: { id },
      include: { outputs: true },
    });
    expect(outputs.map(({ expiresAt }) => expiresAt!.getTime() - completedAt!.getTime())).toEqual([
      DAY_MS,
      DAY_MS,
    ]);
    expect(await claimFileRemovals(test.db, { limit: 100, leaseMs: 1_000 })).toEqual([]);
  });
});
