import type { JsonObject } from '../domain/json.ts';
import type { Db } from './client.ts';
import { olderThan } from './newest-first.ts';

/** Who does it, and why: kept for ever. */
export interface ByOperator {
  readonly actor: string;
  readonly reason: string;
}

export interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly retentionHours: number | null;
}

export interface KeyRow {
  readonly id: string;
  readonly tenantId: string | null;
  readonly scopes: readonly string[];
  readonly label: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

const KEY = {
  id: true,
  tenantId: true,
  scopes: true,
  label: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
  lastUsedAt: true,
} as const;

/** The place after which a page begins; newest first, by (created_at, id). */
interface PageFilter {
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
}

/** A new tenant with its `default` account, and the record of it. @returns false when there is one of this id already */
export async function addTenant(
  db: Db,
  tenant: { readonly id: string; readonly name: string; readonly accountId: string },
  { actor, reason }: ByOperator,
): Promise<boolean> {
  const made = await db.prisma.$executeRaw`
    WITH made AS (INSERT INTO tenant (id, name) VALUES (${tenant.id}, ${tenant.name}) ON CONFLICT (id) DO NOTHING RETURNING id),
      account AS (INSERT INTO ledger_account (id, tenant_id, name, kind) SELECT ${tenant.accountId}, id, 'default', 'tenant' FROM made)
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail) SELECT 'create_tenant', id, ${actor}, ${reason}, '{}' FROM made`;
  return made === 1;
}

export function findTenant(db: Db, id: string): Promise<TenantRow | null> {
  return db.prisma.tenant.findUnique({
    where: { id },
    select: { id: true, name: true, createdAt: true, retentionHours: true },
  });
}

/** Newest first. */
export function pageTenants(db: Db, { after, limit }: PageFilter): Promise<TenantRow[]> {
  return db.prisma.tenant.findMany({
    where: olderThan(after),
    select: { id: true, name: true, createdAt: true, retentionHours: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** Keeps the hash of a new key, and the record of it. @returns false when there is one of this id already */
export async function addApiKey(
  db: Db,
  key: Pick<KeyRow, 'id' | 'tenantId' | 'scopes' | 'label' | 'expiresAt'> & { readonly sha256: Uint8Array },
  { actor, reason }: ByOperator,
): Promise<boolean> {
  const made = await db.prisma.$executeRaw`
    WITH made AS (
      INSERT INTO api_key (id, tenant_id, secret_sha256, scopes, label, expires_at)
      VALUES (${key.id}, ${key.tenantId}, ${Buffer.from(key.sha256)}, ${[...key.scopes]}, ${key.label}, ${key.expiresAt}::timestamptz)
      ON CONFLICT (id) DO NOTHING RETURNING id, tenant_id, scopes, label)
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    SELECT 'create_key', tenant_id, ${actor}, ${reason}, jsonb_build_object('key', id, 'scopes', scopes, 'label', label) FROM made`;
  return made === 1;
}

/** Never with its hash. */
export function findKey(db: Db, id: string): Promise<KeyRow | null> {
  return db.prisma.apiKey.findUnique({ where: { id }, select: KEY });
}

/** Newest first; `tenantId` null = those of operators, undefined = all. */
export function pageKeys(
  db: Db,
  { after, limit, tenantId }: PageFilter & { readonly tenantId?: string | null | undefined },
): Promise<KeyRow[]> {
  return db.prisma.apiKey.findMany({
    where: { ...(tenantId === undefined ? {} : { tenantId }), ...olderThan(after) },
    select: KEY,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** From now on it is refused; recorded once. @returns false when there is no such live key */
export async function revokeKey(db: Db, id: string, { actor, reason }: ByOperator): Promise<boolean> {
  const revoked = await db.prisma.$executeRaw`
    WITH revoked AS (
      UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = ${id} AND revoked_at IS NULL RETURNING id, tenant_id)
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    SELECT 'revoke_key', tenant_id, ${actor}, ${reason}, jsonb_build_object('key', id) FROM revoked`;
  return revoked === 1;
}

/** What was done, in the transaction of what was done. */
export async function recordAction(
  db: Db,
  action: ByOperator & {
    readonly kind: 'redeliver' | 'enable_endpoint';
    readonly tenantId: string;
    readonly generationId: string | null;
    readonly detail: JsonObject;
  },
): Promise<void> {
  await db.prisma.operatorAction.create({ data: { ...action, detail: { ...action.detail } } });
}
