import type { Db } from './client.ts';
import type { Prisma } from './generated/client.ts';

const ENDPOINT = { url: true, disabledAt: true, deletedAt: true } as const;
const PARTS = {
  endpoint: { select: ENDPOINT },
  event: {
    select: {
      type: true,
      generationId: true,
      createdAt: true,
      generation: { select: { callbackUrl: true } },
    },
  },
} satisfies Prisma.WebhookDeliveryInclude;

/** A delivery of any tenant with what it tells and where it goes. */
export type OperatedDelivery = Prisma.WebhookDeliveryGetPayload<{ include: typeof PARTS }>;

export interface OperatedDeliveryFilter {
  readonly tenantId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly state?: string | undefined;
  /** Only those with smaller numbers. */
  readonly beforeId?: bigint | undefined;
  readonly limit: number;
}

/** Newest first, of all tenants. */
export function listOperatedDeliveries(
  db: Db,
  { tenantId, endpointId, generationId, state, beforeId, limit }: OperatedDeliveryFilter,
): Promise<OperatedDelivery[]> {
  return db.prisma.webhookDelivery.findMany({
    where: {
      ...(tenantId === undefined ? {} : { tenantId }),
      ...(endpointId === undefined ? {} : { endpointId }),
      ...(generationId === undefined ? {} : { event: { generationId } }),
      ...(state === undefined ? {} : { state }),
      ...(beforeId === undefined ? {} : { id: { lt: beforeId } }),
    },
    include: PARTS,
    orderBy: { id: 'desc' },
    take: limit,
  });
}

/** One delivery with its last attempts, newest first, or null. */
export function findOperatedDelivery(db: Db, id: bigint, attempts: number) {
  return db.prisma.webhookDelivery.findUnique({
    where: { id },
    include: { ...PARTS, tries: { orderBy: { attempt: 'desc' }, take: attempts } },
  });
}

/** An endpoint of any tenant and what waits for it. */
export interface OperatedEndpoint {
  readonly id: string;
  readonly tenantId: string;
  readonly url: string;
  readonly description: string;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly failingSince: Date | null;
  readonly openUntil: Date | null;
  readonly createdAt: Date;
  readonly pending: number;
  readonly failed: number;
  readonly held: number;
}

/** Endpoints that are not deleted, newest first; `troubled` = only those that are disabled or whose attempts all fail. */
export function listOperatedEndpoints(
  db: Db,
  {
    tenantId,
    troubled,
    limit,
  }: { readonly tenantId: string | null; readonly troubled: boolean; readonly limit: number },
): Promise<OperatedEndpoint[]> {
  return db.prisma.$queryRaw<OperatedEndpoint[]>`
    SELECT e.id, e.tenant_id AS "tenantId", e.url, e.description, e.disabled_at AS "disabledAt", e.disabled_reason AS "disabledReason",
      e.failing_since AS "failingSince", CASE WHEN e.open_until > clock_timestamp() THEN e.open_until END AS "openUntil",
      e.created_at AS "createdAt",
      (SELECT count(*)::int FROM webhook_delivery d WHERE d.target = e.id AND d.state = 'pending') AS pending,
      coalesce(n.failed, 0) AS failed, coalesce(n.held, 0) AS held
    FROM webhook_endpoint e LEFT JOIN (
      SELECT endpoint_id, (count(*) FILTER (WHERE state = 'failed'))::int AS failed, (count(*) FILTER (WHERE state = 'held'))::int AS held
      FROM webhook_delivery WHERE state IN ('failed', 'held') AND endpoint_id IS NOT NULL GROUP BY endpoint_id) n ON n.endpoint_id = e.id
    WHERE e.deleted_at IS NULL AND (${tenantId}::text IS NULL OR e.tenant_id = ${tenantId})
      AND (NOT ${troubled} OR e.disabled_at IS NOT NULL OR e.failing_since IS NOT NULL)
    ORDER BY e.created_at DESC, e.id DESC LIMIT ${limit}`;
}

/** Whose endpoint it is, deleted ones left out; null = there is none. */
export async function findEndpointTenant(db: Db, id: string): Promise<string | null> {
  const row = await db.prisma.webhookEndpoint.findFirst({
    where: { id, deletedAt: null },
    select: { tenantId: true },
  });
  return row?.tenantId ?? null;
}
