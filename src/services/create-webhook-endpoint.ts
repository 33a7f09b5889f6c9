import { createHash } from 'node:crypto';
import { createWebhookEndpoint as insertEndpoint, findWebhookEndpoint } from '../db/index.ts';
import { newId } from '../domain/ids.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import { DEFAULT_WEBHOOK_TYPES, type WebhookType } from '../domain/webhook-event.ts';
import { makeWebhookSecret, sealWebhookSecret } from '../domain/webhook-secret.ts';
import type { WebhookEndpointView } from '../domain/webhook-view.ts';
import type { ServiceContext } from './context.ts';
import { viewEndpoint } from './webhook-views.ts';

/** Live endpoints of one tenant. */
export const MAX_ENDPOINTS = 20;

export interface CreateWebhookEndpointInput {
  readonly tenantId: string;
  readonly idempotencyKey: string;
  /** As sent, for the comparison of repeats. */
  readonly body: JsonObject;
  readonly url: string;
  readonly types: readonly WebhookType[] | undefined;
  readonly description: string;
  readonly endOn4xx: boolean;
}

export type CreateWebhookEndpointOutcome =
  | { readonly outcome: 'created'; readonly endpoint: WebhookEndpointView; readonly secret: string }
  /** Never with the secret; null = deleted since. */
  | { readonly outcome: 'replayed'; readonly endpoint: WebhookEndpointView | null }
  | { readonly outcome: 'url_not_allowed' | 'key_reuse' | 'too_many' };

/** A new endpoint with its secret, once per key; the secret is returned this once and stored sealed. */
export async function createWebhookEndpoint(
  ctx: Pick<ServiceContext, 'db' | 'keyring' | 'checkUrl' | 'nowMs'>,
  input: CreateWebhookEndpointInput,
): Promise<CreateWebhookEndpointOutcome> {
  if (!ctx.checkUrl(input.url)) return { outcome: 'url_not_allowed' };
  const { tenantId, url, description, endOn4xx, idempotencyKey } = input;
  const endpointId = newId('whe', ctx.nowMs());
  const secret = makeWebhookSecret();
  const { sealed, keyId } = sealWebhookSecret(ctx.keyring, { tenantId, endpointId }, secret);
  const created = await insertEndpoint(
    ctx.db,
    {
      endpointId,
      tenantId,
      url,
      types: [...new Set(input.types ?? DEFAULT_WEBHOOK_TYPES)],
      description,
      endOn4xx,
      idempotencyKey,
      requestSha256: createHash('sha256').update(canonicalJson(input.body)).digest('hex'),
      keyId,
      maxEndpoints: MAX_ENDPOINTS,
    },
    sealed,
  );
  if (created.outcome === 'key_reuse' || created.outcome === 'too_many') return { outcome: created.outcome };
  const row = await findWebhookEndpoint(ctx.db, tenantId, created.endpointId ?? endpointId);
  const endpoint = row === null ? null : viewEndpoint(row);
  if (created.outcome === 'replayed') return { outcome: 'replayed', endpoint };
  if (endpoint === null) throw new Error('a new endpoint is gone');
  return { outcome: 'created', endpoint, secret };
}
