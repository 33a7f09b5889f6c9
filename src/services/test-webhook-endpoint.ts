import { randomBytes } from 'node:crypto';
import { findWebhookDelivery, testWebhookEndpoint as sendTest } from '../db/index.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import { TEST_WEBHOOK_TYPE, webhookBody } from '../domain/webhook-event.ts';
import type { WebhookDeliveryView } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { viewDelivery } from './webhook-views.ts';

export type TestWebhookEndpointOutcome =
  | { readonly outcome: 'sending'; readonly delivery: WebhookDeliveryView }
  | { readonly outcome: 'not_found' | 'endpoint_disabled' };

/** Sends an event that tells of nothing, by the way that all others go. */
export async function testWebhookEndpoint(
  ctx: Pick<ServiceContext, 'db' | 'nowMs'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<TestWebhookEndpointOutcome> {
  if (!ENDPOINT_ID.test(id)) return { outcome: 'not_found' };
  const eventId = `evt_test_${randomBytes(16).toString('hex')}`;
  const event = { id: eventId, type: TEST_WEBHOOK_TYPE, timestamp: new Date(ctx.nowMs()).toISOString() };
  const body = webhookBody(event, { message: 'This is a test. No generation has changed.' });
  const sent = await sendTest(ctx.db, { tenantId, endpointId: id, eventId, body });
  if (sent.outcome !== 'created') return sent;
  const row = await findWebhookDelivery(ctx.db, tenantId, BigInt(sent.deliveryId), 0);
  return row === null ? { outcome: 'not_found' } : { outcome: 'sending', delivery: viewDelivery(row) };
}
