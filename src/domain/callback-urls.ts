import { callbackSecrets, makeCallbackToken, verifyCallbackToken } from './keyring.ts';
import type { Keyring } from './keyring.ts';

/** Where providers call back. The token is derived, never stored: the row keeps base and key id only. */
export interface CallbackUrls {
  /** Base and key for new submissions; null without PUBLIC_URL: everything is polled. */
  current(): { readonly base: string; readonly keyId: string } | null;
  /** The full URL for one submission, the same for the same base and key; null when the key has left the ring. */
  url(parts: {
    readonly base: string;
    readonly keyId: string;
    readonly provider: string;
    readonly submissionId: string;
  }): string | null;
  /** What the callbacks of one submission are signed with, the same for the same key; null when the key has left the ring. */
  secret(parts: { readonly keyId: string; readonly submissionId: string }): string | null;
  /** The submission that a URL of ours stands for, by its token; null for any other URL. */
  submissionOf(url: string): string | null;
}

/** Stands in the frozen bytes for the callback URL, so that no token is stored. */
export function callbackPlaceholder(submissionId: string): string {
  return `https://callback.invalid/${submissionId}`;
}

/** Stands in the frozen bytes for the secret of the submission's callbacks, so that it is not stored. */
export function callbackSecretPlaceholder(submissionId: string): string {
  return `https://callback-secret.invalid/${submissionId}`;
}

const TOKEN = /(sub_[0-9a-z]{26}_\d{1,6})\.[A-Za-z0-9_-]{43}/g;

/**
 * The bytes of a callback without the secret part of any token of ours, and without these secrets: some providers
 * (Replicate) repeat the whole callback URL in what they send to it.
 */
export function withoutTokens(body: Uint8Array, secrets: readonly string[] = []): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const found = secrets.filter((secret) => bytes.includes(secret));
  if (!bytes.includes('sub_') && found.length === 0) return body;
  // A byte is a character here, so that all others stay as they came.
  const text = bytes.toString('latin1').replace(TOKEN, '$1.hidden');
  return Buffer.from(
    found.reduce((rest, secret) => rest.replaceAll(secret, 'hidden'), text),
    'latin1',
  );
}

/** @param publicUrl the origin under which providers reach our API, or null for polling only. */
export function createCallbackUrls(keyring: Keyring, publicUrl: string | null): CallbackUrls {
  const keyOf = (keyId: string) => keyring.keys.find(({ id }) => id === keyId);
  return {
    current: () => (publicUrl === null ? null : { base: publicUrl, keyId: keyring.keys[0].id }),
    submissionOf(url) {
      const token = /\/callbacks\/[a-z0-9_-]+\/([^/?#]+)$/.exec(url)?.[1];
      return token === undefined ? null : verifyCallbackToken(keyring, token);
    },
    secret({ keyId, submissionId }) {
      const key = keyOf(keyId);
      return key === undefined ? null : callbackSecrets({ keys: [key] }, submissionId)[0];
    },
    url({ base, keyId, provider, submissionId }) {
      const key = keyOf(keyId);
      if (key === undefined) return null;
      return `${base}/callbacks/${provider}/${makeCallbackToken({ keys: [key] }, submissionId).token}`;
    },
  };
}
