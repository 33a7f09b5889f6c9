import type { Db } from './client.ts';
import type { Prisma } from './generated/client.ts';
import { olderThan } from './newest-first.ts';

const SECRETS = {
  secrets: {
    where: { expiresAt: { not: null } },
    select: { expiresAt: true },
    orderBy: { expiresAt: 'desc' },
  },
} satisfies Prisma.WebhookEndpointInclude;

/** An endpoint with the times until which replaced secrets still sign. */
export type EndpointRow = Prisma.WebhookEndpointGetPayload<{ include: typeof SECRETS }>;

/** All endpoints of a tenant that are not deleted, newest first; their number is bounded. */
export function listWebhookEndpoints(db: Db, tenantId: string): Promise<EndpointRow[]> {
  return db.prisma.webhookEndpoint.findMany({
    where: { tenantId, deletedAt: null },
    include: SECRETS,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
}

/** One endpoint of this tenant, or null: unknown, deleted and another tenant's are one answer. */
export function findWebhookEndpoint(db: Db, tenantId: string, id: string): Promise<EndpointRow | null> {
  return db.prisma.webhookEndpoint.findFirst({ where: { id, tenantId, deletedAt: null }, include: SECRETS });
}

const EVENT = {
  event: { select: { type: true, generationId: true, createdAt: true } },
} satisfies Prisma.WebhookDeliveryInclude;

/** A delivery with what it tells. */
export type DeliveryRow = Prisma.WebhookDeliveryGetPayload<{ include: typeof EVENT }>;

export interface DeliveryFilter {
  readonly tenantId: string;
  readonly endpointId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly state?: string | undefined;
  /** Up to `limit` rows after this one, newest first. */
  readonly after?: { readonly createdAt: Date; readonly id: bigint } | undefined;
  readonly limit: number;
}

/** Newest first, by (created_at, id): stable under inserts and equal times. */
export function listWebhookDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const { after } = filter;
  return db.prisma.webhookDelivery.findMany({
    where: {
      tenantId: filter.tenantId,
      ...(filter.endpointId === undefined ? {} : { endpointId: filter.endpointId }),
      ...(filter.generationId === undefined ? {} : { event: { generationId: filter.generationId } }),
      ...(filter.state === undefined ? {} : { state: filter.state }),
      ...olderThan(after),
    },
    include: EVENT,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: filter.limit,
  });
}

/** One delivery of this tenant with its last attempts, newest first, or null. */
export async function findWebhookDelivery(db: Db, tenantId: string, id: bigint, attempts: number) {
  return db.prisma.webhookDelivery.findFirst({
    where: { id, tenantId },
    include: { ...EVENT, tries: { orderBy: { attempt: 'desc' }, take: attempts } },
  });
}
export type DeliveryWithAttempts = NonNullable<Awaited<ReturnType<typeof findWebhookDelivery>>>;
