import { deleteWebhookEndpoint as removeEndpoint, updateWebhookEndpoint } from '../db/index.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import type { WebhookType } from '../domain/webhook-event.ts';
import type { WebhookEndpointView } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { getWebhookEndpoint } from './read-webhook-endpoints.ts';

export interface ChangeWebhookEndpointInput {
  readonly tenantId: string;
  readonly id: string;
  readonly url?: string | undefined;
  readonly types?: readonly WebhookType[] | undefined;
  readonly description?: string | undefined;
  readonly endOn4xx?: boolean | undefined;
  readonly enabled?: boolean | undefined;
}

export type ChangeWebhookEndpointOutcome =
  | { readonly outcome: 'changed'; readonly endpoint: WebhookEndpointView }
  | { readonly outcome: 'not_found' | 'url_not_allowed' };

/** Changes what is given. Disabled, its messages are held; enabled again, they stay so until they are asked for. */
export async function changeWebhookEndpoint(
  ctx: Pick<ServiceContext, 'db' | 'checkUrl'>,
  { id, tenantId, types, ...change }: ChangeWebhookEndpointInput,
): Promise<ChangeWebhookEndpointOutcome> {
  if (!ENDPOINT_ID.test(id)) return { outcome: 'not_found' };
  if (change.url !== undefined && !ctx.checkUrl(change.url)) return { outcome: 'url_not_allowed' };
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const { outcome } = await updateWebhookEndpoint(ctx.db, {
    endpointId: id,
    tenantId,
    ...given,
    ...(types === undefined ? {} : { types: [...new Set(types)] }),
  });
  if (outcome === 'not_found') return { outcome };
  const endpoint = await getWebhookEndpoint(ctx, { tenantId, id });
  return endpoint === null ? { outcome: 'not_found' } : { outcome: 'changed', endpoint };
}

/** Gone for its tenant; what waits for it is cancelled. @returns false when there is none */
export async function deleteWebhookEndpoint(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<boolean> {
  if (!ENDPOINT_ID.test(id)) return false;
  return (await removeEndpoint(ctx.db, { endpointId: id, tenantId })).outcome === 'deleted';
}
