import { createHmac } from 'node:crypto';
import { webhookSecretBytes } from './webhook-secret.ts';

/** One attempt as it is signed; the body goes out as these very bytes. */
export interface SignedMessage {
  /** The event's id: the same at each attempt. */
  readonly id: string;
  /** Of this attempt, in unix seconds. */
  readonly timestamp: number;
  readonly body: string;
  /** `whsec_…`, newest first; each one signs. */
  readonly secrets: readonly string[];
}

/**
 * `webhook-signature` of Standard Webhooks 1.0.0: `v1,<base64>` for each secret, separated by a space; HMAC-SHA256 of
 * `{id}.{timestamp}.{body}` under the decoded secret.
 * @throws when a secret is not one of ours, without showing it
 */
export function standardSignature({ id, timestamp, body, secrets }: SignedMessage): string {
  return secrets
    .map((secret) => {
      const key = webhookSecretBytes(secret);
      if (key === null) throw new Error('a webhook secret is not whsec_ and base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}

/**
 * `X-Webhook-Signature`: `t=<unix seconds>,v1=<hex>`, one `v1` for each secret; HMAC-SHA256 of `{t}.{body}` under the
 * whole text of the secret, `whsec_` included, so that a receiver needs no base64.
 */
export function timestampedSignature({ timestamp, body, secrets }: SignedMessage): string {
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`,
  );
  return [`t=${timestamp}`, ...signatures].join(',');
}

/** All headers of one attempt that we set ourselves; nothing that a tenant wrote is among them. */
export function webhookHeaders(
  message: SignedMessage,
  { attempt, userAgent }: { readonly attempt: number; readonly userAgent: string },
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': standardSignature(message),
    'x-webhook-signature': timestampedSignature(message),
    'x-webhook-attempt': String(attempt),
  };
}
