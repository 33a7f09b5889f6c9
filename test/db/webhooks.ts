import { randomUUID } from 'node:crypto';
import {
  claimDeliveries,
  createWebhookEndpoint,
  recordDeliveryAttempt,
  requestCancel,
  rotateWebhookSecret,
} from '../../src/db/index.ts';
import type { ClaimedDelivery, Db, DeliveryAttempt, NewEndpoint, NewGeneration } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { DEFAULT_WEBHOOK_TYPES } from '../../src/domain/webhook-event.ts';
import type { TestDb } from './database.ts';
import { create, newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

/** As in the design: ten attempts. */
export const SCHEDULE_MS = [
  0, 1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000,
];
export const CALLBACK_URL = 'https://product.example:8443/hooks?of=7';
const DAY_MS = 86_400_000;

export function newEndpointOf(tenant: Tenant, over: Partial<NewEndpoint> = {}): NewEndpoint {
  return {
    endpointId: newId('whe'),
    tenantId: tenant.id,
    url: 'https://tenant.example/webhooks',
    types: DEFAULT_WEBHOOK_TYPES,
    description: '',
    endOn4xx: false,
    idempotencyKey: randomUUID(),
    requestSha256: 'ab'.repeat(32),
    keyId: 'k1',
    maxEndpoints: 20,
    ...over,
  };
}

/** An endpoint with its first secret; its id. */
export async function newEndpoint(
  db: Db,
  tenant: Tenant,
  over: Partial<NewEndpoint> = {},
  secret = 'first',
): Promise<string> {
  const { outcome, endpointId } = await createWebhookEndpoint(
    db,
    newEndpointOf(tenant, over),
    Buffer.from(secret),
  );
  if (outcome !== 'created') throw new Error(`create_webhook_endpoint said ${outcome}`);
  return endpointId!;
}

/** The secret that signs what goes to a callback_url. */
export function newDefaultSecret(db: Db, tenant: Tenant, secret = 'default') {
  const of = { tenantId: tenant.id, endpointId: null, keyId: 'k1', overlapMs: DAY_MS };
  return rotateWebhookSecret(db, of, Buffer.from(secret));
}

/** A generation that has ended as cancelled, the quickest of all ends; its id. */
export async function endedGeneration(
  db: Db,
  tenant: Tenant,
  over: Partial<NewGeneration> = {},
): Promise<string> {
  const id = await create(db, tenant, over);
  const { outcome } = await requestCancel(db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
  if (outcome !== 'cancelled') throw new Error(`request_cancel said ${outcome}`);
  return id;
}

export function claim(db: Db, over: Partial<Parameters<typeof claimDeliveries>[1]> = {}) {
  return claimDeliveries(db, { limit: 50, perTarget: 4, leaseMs: 15_000, ...over });
}

/** Claims, and must be given exactly one. */
export async function claimOne(db: Db): Promise<ClaimedDelivery> {
  const claimed = await claim(db);
  if (claimed.length !== 1) throw new Error(`${claimed.length} deliveries were due`);
  return claimed[0]!;
}

export function record(
  db: Db,
  { deliveryId, attempt }: Pick<ClaimedDelivery, 'deliveryId' | 'attempt'>,
  outcome: DeliveryAttempt['outcome'],
  over: Partial<DeliveryAttempt> = {},
  answer: string | Uint8Array = '',
) {
  const status = { delivered: 204, failed: 500, gone: 410, ended: 422 }[outcome];
  return recordDeliveryAttempt(
    db,
    {
      deliveryId,
      attempt,
      outcome,
      status,
      problem: outcome === 'delivered' ? null : 'http_status',
      durationMs: 12,
      retryAfterMs: null,
      delaysMs: SCHEDULE_MS,
      disableAfterMs: 5 * DAY_MS,
      ...over,
    },
    typeof answer === 'string' ? Buffer.from(answer) : answer,
  );
}

/** Deliveries of a tenant, oldest first. */
export function deliveriesOf(db: Db, tenant: Tenant) {
  return db.prisma.webhookDelivery.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });
}

export function deliveryOf(db: Db, id: number) {
  return db.prisma.webhookDelivery.findUniqueOrThrow({ where: { id } });
}

export function endpointOf(db: Db, id: string) {
  return db.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
}

/** One endpoint with one delivery, claimed for its first attempt. */
export async function claimedDelivery(test: TestDb, over: Partial<NewEndpoint> = {}) {
  const tenant = await newTenant(test.db);
  const endpoint = await newEndpoint(test.db, tenant, over);
  await endedGeneration(test.db, tenant);
  const { deliveryId } = await claimOne(test.db);
  return { tenant, endpoint, deliveryId };
}

/** Lets the time of the next attempt come, whatever the circuit says, and claims it; its number. */
export async function claimNext(test: TestDb, deliveryId: number): Promise<number> {
  await test.sql('UPDATE webhook_delivery SET next_attempt_at = now(), leased_until = NULL WHERE id = $1', [
    deliveryId,
  ]);
  await test.sql('UPDATE webhook_endpoint SET open_until = NULL');
  const claimed = await claimOne(test.db);
  if (claimed.deliveryId !== deliveryId) throw new Error('another delivery was due');
  return claimed.attempt;
}
