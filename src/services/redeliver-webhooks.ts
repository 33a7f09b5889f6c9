import { redeliverWebhooks } from '../db/index.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import type { WebhookDeliveryDetail } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { getWebhookDelivery } from './read-webhook-deliveries.ts';
import { deliveryNumber } from './webhook-views.ts';

/** Deliveries that one call makes due again. */
export const REDELIVER_LIMIT = 10_000;

type Refusal = { readonly outcome: 'not_found' | 'endpoint_disabled' | 'endpoint_deleted' };

/** Sends one delivery again, whatever became of it, with the schedule from its start. */
export async function redeliverOne(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<{ readonly outcome: 'redelivering'; readonly delivery: WebhookDeliveryDetail } | Refusal> {
  const number = deliveryNumber(id);
  if (number === null) return { outcome: 'not_found' };
  const result = await redeliverWebhooks(ctx.db, { tenantId, deliveryId: Number(number) });
  if (result.outcome !== 'redelivering') return result;
  const delivery = await getWebhookDelivery(ctx, { tenantId, id });
  return delivery === null ? { outcome: 'not_found' } : { outcome: 'redelivering', delivery };
}

/** Sends again what an endpoint has missed since a time (with `all`, also what it took), oldest first. */
export async function redeliverSince(
  ctx: Pick<ServiceContext, 'db'>,
  input: {
    readonly tenantId: string;
    readonly endpointId: string;
    /** ISO 8601. */
    readonly since: string;
    readonly all: boolean;
  },
): Promise<
  | {
      readonly outcome: 'redelivering';
      readonly count: number;
      readonly more: boolean;
      /** The `since` of the next call, ISO 8601; null when there is no more. */
      readonly next: string | null;
    }
  | Refusal
> {
  if (!ENDPOINT_ID.test(input.endpointId)) return { outcome: 'not_found' };
  return redeliverWebhooks(ctx.db, { ...input, limit: REDELIVER_LIMIT });
}
