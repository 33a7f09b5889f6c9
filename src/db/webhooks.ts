import { z } from 'zod';
import type { Db } from './client.ts';

const sealed = z.object({
  sealed: z.string().transform((text) => Buffer.from(text, 'base64')),
  keyId: z.string(),
});

const claimed = z.object({
  deliveryId: z.int(),
  /** From 1. */
  attempt: z.int(),
  eventId: z.string(),
  type: z.string(),
  /** When it happened, ISO 8601. */
  eventAt: z.string(),
  generationId: z.string().nullable(),
  tenantId: z.string(),
  /** null = the callback_url of the generation. */
  endpointId: z.string().nullable(),
  url: z.string(),
  endOn4xx: z.boolean(),
  /** null = not made yet: see `keepWebhookBody`. */
  body: z.string().nullable(),
  /** All that sign now, newest first; sealed for `webhookSecretPurpose`. */
  secrets: z.array(sealed),
});
/** One attempt at one delivery, for whoever claimed it. */
export type ClaimedDelivery = z.infer<typeof claimed>;

/**
 * What is due now, at most `perTarget` under way for one receiver and `perTenant` for all of one tenant (without it no
 * limit); the claim is committed before any request.
 */
export function claimDeliveries(
  db: Db,
  params: {
    readonly limit: number;
    readonly perTarget: number;
    readonly perTenant?: number;
    readonly leaseMs: number;
  },
): Promise<ClaimedDelivery[]> {
  return db.call('claim_deliveries', { ...params }, z.array(claimed));
}

/**
 * Keeps an event's bytes for all its attempts; returns those that stand. null = they must not be sent: they were made
 * from a row that was not yet `erased` and now is, or the event is gone. The next attempt makes them anew.
 */
export function keepWebhookBody(
  db: Db,
  params: { readonly eventId: string; readonly body: string; readonly erased?: boolean },
): Promise<string | null> {
  return db.call('keep_webhook_body', { ...params }, z.string().nullable());
}

export interface DeliveryAttempt {
  readonly deliveryId: number;
  readonly attempt: number;
  /** `gone` = 410; `ended` = a 4xx at an endpoint that wants those to end it. */
  readonly outcome: 'delivered' | 'failed' | 'gone' | 'ended';
  readonly status: number | null;
  /** A fixed code; null on a success. */
  readonly problem: string | null;
  readonly durationMs: number;
  readonly retryAfterMs: number | null;
  /** The schedule: milliseconds before each attempt, with this attempt's jitter. */
  readonly delaysMs: readonly number[];
  readonly disableAfterMs: number;
}

const recorded = z.object({
  state: z.enum(['pending', 'delivered', 'failed', 'held', 'cancelled']),
  disabled: z.enum(['gone', 'failing']).nullable(),
  endpointId: z.string().nullable(),
});

/** How an attempt ended, with the first 20,000 bytes of the answer. */
export function recordDeliveryAttempt(db: Db, attempt: DeliveryAttempt, answer: Uint8Array) {
  return db.call('record_delivery_attempt', { ...attempt }, recorded, answer);
}

export interface NewEndpoint {
  readonly endpointId: string;
  readonly tenantId: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string;
  readonly endOn4xx: boolean;
  readonly idempotencyKey: string;
  /** Hex. */
  readonly requestSha256: string;
  /** Of the key that sealed the secret. */
  readonly keyId: string;
  readonly maxEndpoints: number;
}

/** Once per idempotency key. */
export function createWebhookEndpoint(db: Db, endpoint: NewEndpoint, sealedSecret: Uint8Array) {
  return db.call(
    'create_webhook_endpoint',
    { ...endpoint },
    z.object({
      outcome: z.enum(['created', 'replayed', 'key_reuse', 'too_many']),
      endpointId: z.string().optional(),
    }),
    sealedSecret,
  );
}

export interface EndpointChange {
  readonly endpointId: string;
  readonly tenantId: string;
  readonly url?: string;
  readonly types?: readonly string[];
  readonly description?: string;
  readonly endOn4xx?: boolean;
  readonly enabled?: boolean;
}

/** Changes what is given. */
export function updateWebhookEndpoint(db: Db, change: EndpointChange) {
  return db.call(
    'update_webhook_endpoint',
    { ...change },
    z.object({ outcome: z.enum(['updated', 'not_found']) }),
  );
}

/** Gone for its tenant; what waits is cancelled. */
export function deleteWebhookEndpoint(
  db: Db,
  params: { readonly endpointId: string; readonly tenantId: string },
) {
  return db.call(
    'delete_webhook_endpoint',
    { ...params },
    z.object({ outcome: z.enum(['deleted', 'not_found']) }),
  );
}

/** A new secret; the one before signs beside it for `overlapMs`. endpointId null = the tenant's default. */
export function rotateWebhookSecret(
  db: Db,
  params: {
    readonly tenantId: string;
    readonly endpointId: string | null;
    readonly keyId: string;
    readonly overlapMs: number;
    readonly onlyFirst?: boolean;
  },
  sealedSecret: Uint8Array,
) {
  return db.call(
    'rotate_webhook_secret',
    { ...params },
    z.object({ outcome: z.enum(['rotated', 'not_found', 'exists']) }),
    sealedSecret,
  );
}

export type Redelivery =
  | { readonly tenantId: string; readonly deliveryId: number }
  | {
      readonly tenantId: string;
      readonly endpointId: string;
      /** ISO 8601. */
      readonly since: string;
      /** Also what was delivered. */
      readonly all: boolean;
      readonly limit: number;
    };

const redelivering = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('redelivering'),
    count: z.int(),
    more: z.boolean(),
    /** The `since` that goes on, ISO 8601; null when there is no more. */
    next: z.string().nullable(),
  }),
  z.object({ outcome: z.literal('not_found') }),
  z.object({ outcome: z.literal('endpoint_disabled') }),
  z.object({ outcome: z.literal('endpoint_deleted') }),
]);

/** Makes deliveries due again, with the schedule from its start. */
export function redeliverWebhooks(db: Db, params: Redelivery): Promise<z.infer<typeof redelivering>> {
  return db.call('redeliver_webhooks', { ...params }, redelivering);
}

const tested = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('created'), deliveryId: z.int() }),
  z.object({ outcome: z.literal('not_found') }),
  z.object({ outcome: z.literal('endpoint_disabled') }),
]);

/** An event of its own for one endpoint. */
export function testWebhookEndpoint(
  db: Db,
  params: {
    readonly tenantId: string;
    readonly endpointId: string;
    readonly eventId: string;
    readonly body: string;
  },
): Promise<z.infer<typeof tested>> {
  return db.call('test_webhook_endpoint', { ...params }, tested);
}
