import { findWebhookEndpoint, listWebhookEndpoints as readEndpoints } from '../db/index.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import type { WebhookEndpointView } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { viewEndpoint } from './webhook-views.ts';

/** All endpoints of a tenant, newest first; there are few. */
export async function listWebhookEndpoints(
  ctx: Pick<ServiceContext, 'db'>,
  tenantId: string,
): Promise<WebhookEndpointView[]> {
  return (await readEndpoints(ctx.db, tenantId)).map(viewEndpoint);
}

/** One endpoint, or null: malformed, unknown, deleted and another tenant's ids are one answer. */
export async function getWebhookEndpoint(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<WebhookEndpointView | null> {
  if (!ENDPOINT_ID.test(id)) return null;
  const row = await findWebhookEndpoint(ctx.db, tenantId, id);
  return row === null ? null : viewEndpoint(row);
}
