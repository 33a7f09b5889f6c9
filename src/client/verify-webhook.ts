import { WebhookVerificationError } from './errors.ts';
import type { WebhookEvent } from './types.ts';

export interface WebhookMessage {
  /** The raw bytes of the request, as they came: never parsed and serialised again. */
  readonly body: string | Uint8Array;
  /** As your server has them: `request.headers`, or a Headers object. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** `whsec_…`; several while you change it. */
  readonly secret: string | readonly string[];
  /** How old a message may be, and how far ahead of your clock. Default 300. */
  readonly toleranceSeconds?: number;
  /** Unix milliseconds; for tests. */
  readonly nowMs?: number;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Checks a webhook as Standard Webhooks 1.0.0 says, strictly and over the bytes, and returns what it tells. It works where
 * there is Web Crypto: Node, Deno, Bun, workers.
 * @throws WebhookVerificationError, never telling what would have been right
 */
export async function verifyWebhook(message: WebhookMessage): Promise<WebhookEvent> {
  const { headers, secret, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, nowMs = Date.now() } = message;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time');
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('the message is too old, or your clock is wrong');
  }
  const bytes = typeof message.body === 'string' ? new TextEncoder().encode(message.body) : message.body;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const given = signatures
    .split(' ')
    .slice(0, 20)
    .flatMap((part) => (part.startsWith('v1,') ? [decode(part.slice(3))] : []));
  const secrets = typeof secret === 'string' ? [secret] : secret;
  let valid = false;
  for (const text of secrets) {
    const key = await importKey(text);
    for (const signature of given) {
      if (signature !== null && (await crypto.subtle.verify('HMAC', key, signature, signed))) valid = true;
    }
  }
  if (!valid)
    throw new WebhookVerificationError('no signature matches: check the secret and use the raw body');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('the body is not JSON');
  }
}

function headerOf(headers: WebhookMessage['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : valueOf(headers, name);
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`${name} is missing`);
  return value;
}

function valueOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
): string | readonly string[] | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

async function importKey(secret: string) {
  const bytes = secret.startsWith('whsec_') ? decode(secret.slice(6)) : null;
  if (bytes === null || bytes.length === 0) {
    throw new TypeError('secret must be the whsec_… text that the API showed');
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
