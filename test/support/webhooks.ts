import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import {
  claimDeliveries,
  createWebhookEndpoint,
  requestCancel,
  rotateWebhookSecret,
  settle,
} from '../../src/db/index.ts';
import type { ClaimedDelivery, Db, NewEndpoint, NewGeneration } from '../../src/db/index.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Keyring } from '../../src/domain/keyring.ts';
import { DEFAULT_WEBHOOK_TYPES } from '../../src/domain/webhook-event.ts';
import { WEBHOOK_TIMINGS, type WebhookTimings } from '../../src/domain/webhook-schedule.ts';
import { makeWebhookSecret, sealWebhookSecret } from '../../src/domain/webhook-secret.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import {
  deliverWebhook,
  type AttemptReport,
  type DeliveryContext,
} from '../../src/services/deliver-webhook.ts';
import { testKeyring } from '../api/api.ts';
import { create, store, storing, type Tenant } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';

export const KEYRING = testKeyring();

export interface Endpoint {
  readonly id: string;
  readonly secret: string;
}

/** An endpoint of the tenant at this URL, its secret sealed as the API seals it. */
export async function endpointAt(
  db: Db,
  tenant: Pick<Tenant, 'id'>,
  url: string,
  over: Partial<NewEndpoint> = {},
  keyring: Keyring = KEYRING,
): Promise<Endpoint> {
  const [id, secret] = [newId('whe'), makeWebhookSecret()];
  const { sealed, keyId } = sealWebhookSecret(keyring, { tenantId: tenant.id, endpointId: id }, secret);
  const endpoint: NewEndpoint = {
    endpointId: id,
    tenantId: tenant.id,
    url,
    types: DEFAULT_WEBHOOK_TYPES,
    description: '',
    endOn4xx: false,
    idempotencyKey: randomUUID(),
    requestSha256: 'ab'.repeat(32),
    keyId,
    maxEndpoints: 20,
    ...over,
  };
  const { outcome } = await createWebhookEndpoint(db, endpoint, sealed);
  if (outcome !== 'created') throw new Error(`create_webhook_endpoint said ${outcome}`);
  return { id, secret };
}

/** A new secret of an endpoint, or (null) the tenant's default; the one before signs on for `overlapMs`. */
export async function newSecret(
  db: Db,
  tenant: Pick<Tenant, 'id'>,
  endpointId: string | null,
  { overlapMs = 60_000, keyring = KEYRING }: { overlapMs?: number; keyring?: Keyring } = {},
): Promise<string> {
  const secret = makeWebhookSecret();
  const owner = { tenantId: tenant.id, endpointId };
  const { sealed, keyId } = sealWebhookSecret(keyring, owner, secret);
  const { outcome } = await rotateWebhookSecret(db, { ...owner, keyId, overlapMs }, sealed);
  if (outcome !== 'rotated') throw new Error(`rotate_webhook_secret said ${outcome}`);
  return secret;
}

/** A generation that ends at once, as cancelled; its id. */
export async function cancelled(db: Db, tenant: Tenant, over: Partial<NewGeneration> = {}): Promise<string> {
  const generationId = await create(db, tenant, { credits: 1, ...over });
  const { outcome } = await requestCancel(db, { generationId, tenantId: tenant.id, actor: 'tenant' });
  if (outcome !== 'cancelled') throw new Error(`request_cancel said ${outcome}`);
  return generationId;
}

/** A generation that succeeds with one stored output; its id. */
export async function succeeded(db: Db, tenant: Tenant): Promise<string> {
  const id = await storing(db, tenant);
  await store(db, id);
  const { outcome } = await settle(db, id, { state: 'succeeded', errorCode: null });
  if (outcome !== 'settled') throw new Error(`settle said ${outcome}`);
  return id;
}

/** What a delivery needs, on the real way out, which may call these ports here; ends with the test. */
export function deliveryContext(
  db: Db,
  ports: readonly number[],
  over: Partial<DeliveryContext> = {},
): DeliveryContext {
  const http = createOutboundHttp({ allow: ports.map((port) => ({ host: '127.0.0.1', port })) });
  onTestFinished(() => http.close());
  return {
    db,
    keyring: KEYRING,
    links: createFileLinks(KEYRING, 'https://darkroom.example'),
    http,
    userAgent: 'Darkroom/0.0.0',
    nowMs: Date.now,
    random: () => 0.5,
    ...over,
  };
}

/** Claims what is due for this tenant; what is due for others is left to its lease. */
export async function claimOf(db: Db, tenant: Pick<Tenant, 'id'>): Promise<ClaimedDelivery[]> {
  const claimed = await claimDeliveries(db, { limit: 100, perTarget: 100, leaseMs: 15_000 });
  return claimed.filter(({ tenantId }) => tenantId === tenant.id);
}

/** One attempt at each of the tenant's deliveries, as soon as `count` are due. */
export async function attempt(
  ctx: DeliveryContext,
  tenant: Pick<Tenant, 'id'>,
  timings: Partial<WebhookTimings> = {},
  count = 1,
): Promise<AttemptReport[]> {
  const claimed: ClaimedDelivery[] = [];
  await eventually(async () => {
    claimed.push(...(await claimOf(ctx.db, tenant)));
    return claimed.length >= count ? true : undefined;
  });
  const all = { ...WEBHOOK_TIMINGS, ...timings };
  return Promise.all(claimed.map((delivery) => deliverWebhook(ctx, delivery, all)));
}
