import { makeCallbackToken, verifyCallbackToken } from './keyring.ts';
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
  /** The submission that a URL of ours stands for, by its token; null for any other URL. */
  submissionOf(url: string): string | null;
}

/** Stands in the frozen bytes for the callback URL, so that no token is stored. */
export function callbackPlaceholder(submissionId: string): string {
  return `https://callback.invalid/${submissionId}`;
}

/** @param publicUrl the origin under which providers reach our API, or null for polling only. */
export function createCallbackUrls(keyring: Keyring, publicUrl: string | null): CallbackUrls {
  return {
    current: () => (publicUrl === null ? null : { base: publicUrl, keyId: keyring.keys[0].id }),
    submissionOf(url) {
      const token = /\/callbacks\/[a-z0-9_-]+\/([^/?#]+)$/.exec(url)?.[1];
      return token === undefined ? null : verifyCallbackToken(keyring, token);
    },
    url({ base, keyId, provider, submissionId }) {
      const key = keyring.keys.find(({ id }) => id === keyId);
      if (key === undefined) return null;
      return `${base}/callbacks/${provider}/${makeCallbackToken({ keys: [key] }, submissionId).token}`;
    },
  };
}
