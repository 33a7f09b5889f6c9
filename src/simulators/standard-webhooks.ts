import { createHmac } from 'node:crypto';

/** The headers of Standard Webhooks: one `v1` per active secret, keyed with the decoded part after `whsec_`. */
export function standardWebhookHeaders(
  id: string,
  body: Buffer,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = secrets
    .map((secret) => createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64')))
    .map((hmac) => `v1,${hmac.update(signed).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
