import { rotateWebhookSecret as rotate } from '../db/index.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import { makeWebhookSecret, sealWebhookSecret } from '../domain/webhook-secret.ts';
import type { ServiceContext } from './context.ts';

const HOUR_MS = 3_600_000;

/**
 * A new secret of an endpoint, or (endpointId null) of the tenant, which signs for callback_url; returned this once. The
 * ones before sign beside it for the overlap.
 * @returns null when there is no such endpoint
 */
export async function rotateWebhookSecret(
  ctx: Pick<ServiceContext, 'db' | 'keyring'>,
  input: { readonly tenantId: string; readonly endpointId: string | null; readonly overlapHours: number },
): Promise<{ readonly secret: string } | null> {
  const { tenantId, endpointId, overlapHours } = input;
  if (endpointId !== null && !ENDPOINT_ID.test(endpointId)) return null;
  const secret = makeWebhookSecret();
  const { sealed, keyId } = sealWebhookSecret(ctx.keyring, { tenantId, endpointId }, secret);
  const params = { tenantId, endpointId, keyId, overlapMs: overlapHours * HOUR_MS };
  const { outcome } = await rotate(ctx.db, params, sealed);
  return outcome === 'rotated' ? { secret } : null;
}
