import { randomBytes } from 'node:crypto';
import type { Keyring } from './keyring.ts';
import { openSecret, sealSecret, type SealedSecret } from './sealed-secret.ts';

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const NEW_BYTES = 32;
/** What Standard Webhooks 1.0.0 asks of a secret. */
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Whose secret it is: an endpoint's, or (endpointId null) the tenant's default, which signs for callback_url. */
export interface WebhookSecretOwner {
  readonly tenantId: string;
  readonly endpointId: string | null;
}

/** A new secret as its tenant is shown it once: `whsec_` and the base64 of 32 random bytes. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(NEW_BYTES).toString('base64')}`;
}

/** The bytes that Standard Webhooks signs with; null for a text that is not `whsec_` and base64 of 24 to 64 bytes. */
export function webhookSecretBytes(secret: string): Buffer | null {
  const [, base64] = SECRET.exec(secret) ?? [];
  if (base64 === undefined) return null;
  const bytes = Buffer.from(base64, 'base64');
  const usable = bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES;
  return usable && bytes.toString('base64') === base64 ? bytes : null;
}

/** What a sealed secret is bound to: it opens for its owner only. */
export function webhookSecretPurpose({ tenantId, endpointId }: WebhookSecretOwner): string {
  return `webhook:${tenantId}:${endpointId ?? 'default'}`;
}

/** Seals the text of a secret for its row. */
export function sealWebhookSecret(keyring: Keyring, owner: WebhookSecretOwner, secret: string): SealedSecret {
  return sealSecret(keyring, Buffer.from(secret), webhookSecretPurpose(owner));
}

/** The text of a sealed secret; null when its key has left the ring, or it was changed, is another's or no such secret. */
export function openWebhookSecret(
  keyring: Keyring,
  owner: WebhookSecretOwner,
  sealed: { readonly sealed: Uint8Array; readonly keyId: string },
): string | null {
  const secret = openSecret(keyring, sealed, webhookSecretPurpose(owner))?.toString() ?? '';
  return webhookSecretBytes(secret) === null ? null : secret;
}
