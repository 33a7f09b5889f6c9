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

/** A key as it is found for a request. */
export interface FoundApiKey extends StoredApiKey {
  /** Its tenant has a limit of requests a minute, so that the request has to be counted. */
  readonly requestsLimited: boolean;
}

/** A key that is neither revoked nor expired (by the database's clock), or null. */
export async function findApiKey(db: Db, keyId: string): Promise<FoundApiKey | null> {
  const rows = await db.query<FoundApiKey>(
    `SELECT k.id, k.tenant_id AS "tenantId", k.secret_sha256 AS "secretSha256", k.scopes,
       l.requests_per_minute IS NOT NULL AS "requestsLimited"
     FROM api_key k LEFT JOIN usage_limit l ON l.tenant_id = k.tenant_id AND l.scope = 'tenant'
     WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()::timestamptz(3))`,
    [keyId],
  );
  return rows[0] ?? null;
}

/** All tenants, for the operator's list. */
export function listTenants(db: Db): Promise<{ id: string; name: string; createdAt: Date }[]> {
  return db.prisma.tenant.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }], take: 1_000 });
}
