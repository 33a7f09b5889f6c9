import type { Db } from './client.ts';

export interface StoredApiKey {
  readonly id: string;
  readonly tenantId: string | null;
  readonly secretSha256: Uint8Array;
  readonly scopes: readonly string[];
}

/** A new tenant with its `default` account. */
export async function insertTenant(
  db: Db,
  tenant: { readonly id: string; readonly name: string; readonly accountId: string },
): Promise<void> {
  await db.prisma.tenant.create({
    data: {
      id: tenant.id,
      name: tenant.name,
      accounts: { create: { id: tenant.accountId, name: 'default', kind: 'tenant' } },
    },
  });
}

/** Keeps the hash of a key; the key itself is shown once by the caller and stored nowhere. */
export async function insertApiKey(db: Db, key: StoredApiKey & { readonly label: string }): Promise<void> {
  await db.prisma.apiKey.create({
    data: {
      id: key.id,
      tenantId: key.tenantId,
      secretSha256: Buffer.from(key.secretSha256),
      scopes: [...key.scopes],
      label: key.label,
    },
  });
}

/** A key that is neither revoked nor expired (by the database's clock), or null. */
export async function findApiKey(db: Db, keyId: string): Promise<StoredApiKey | null> {
  const rows = await db.prisma.$queryRaw<StoredApiKey[]>`
    SELECT id, tenant_id AS "tenantId", secret_sha256 AS "secretSha256", scopes FROM api_key
    WHERE id = ${keyId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
  return rows[0] ?? null;
}

/** From now on the key is refused. @returns false when there is no such live key. */
export async function revokeApiKey(db: Db, keyId: string): Promise<boolean> {
  const revoked = await db.prisma.$executeRaw`
    UPDATE api_key SET revoked_at = now() WHERE id = ${keyId} AND revoked_at IS NULL`;
  return revoked === 1;
}

/** All tenants, for the operator's list. */
export function listTenants(db: Db): Promise<{ id: string; name: string; createdAt: Date }[]> {
  return db.prisma.tenant.findMany({ orderBy: { createdAt: 'asc' }, take: 1_000 });
}
