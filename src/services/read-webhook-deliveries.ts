import { findWebhookDelivery, listWebhookDeliveries as readDeliveries } from '../db/index.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import type { WebhookDeliveryDetail, WebhookDeliveryView } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { deliveryNumber, viewDelivery, viewDeliveryDetail } from './webhook-views.ts';

const SHOWN_ATTEMPTS = 50;

export interface ListWebhookDeliveriesInput {
  readonly tenantId: string;
  readonly endpointId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly state?: string | undefined;
  readonly after: Position | undefined;
  readonly limit: number;
}

export interface WebhookDeliveryPage {
  readonly data: readonly WebhookDeliveryView[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Newest first; one row more than asked for tells whether there is another page. */
export async function listWebhookDeliveries(
  ctx: Pick<ServiceContext, 'db'>,
  { after, ...input }: ListWebhookDeliveriesInput,
): Promise<WebhookDeliveryPage> {
  const number = after === undefined ? null : deliveryNumber(after.id);
  const rows = await readDeliveries(ctx.db, {
    ...input,
    limit: input.limit + 1,
    after: after === undefined || number === null ? undefined : { createdAt: after.createdAt, id: number },
  });
  const data = rows.slice(0, input.limit);
  const last = data.at(-1);
  const more = rows.length > data.length && last !== undefined;
  return {
    data: data.map(viewDelivery),
    has_more: more,
    next_cursor: more ? encodeCursor({ createdAt: last.createdAt, id: `whd_${last.id}` }) : null,
  };
}

/** One delivery with its last attempts, or null: malformed, unknown and another tenant's ids are one answer. */
export async function getWebhookDelivery(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<WebhookDeliveryDetail | null> {
  const number = deliveryNumber(id);
  if (number === null) return null;
  const row = await findWebhookDelivery(ctx.db, tenantId, number, SHOWN_ATTEMPTS);
  return row === null ? null : viewDeliveryDetail(row);
}
