import { makeCallbackToken } from './keyring.ts';
import type { Keyring } from './keyring.ts';

/** Where providers call back. The token is derived, never stored: the row keeps base and key id only. */
export interface CallbackUrls {
  /** Base and key for new submissions; null without PUBLIC_URL: everything is polled. */
  current(): { readonly base: string; readonly keyId: string } | null;
  /** The full URL for one submission, the same for the same base and key. @throws when the key left the ring. */
  url(parts: {
    readonly base: string;
    readonly keyId: string;
    readonly provider: string;
    readonly submissionId: string;
  }): string;
}

/** Stands in the frozen bytes for the callback URL, so that no token is stored. */
export function callbackPlaceholder(submissionId: string): string {
  return `https://callback.invalid/${submissionId}`;
}

/** @param publicUrl the origin under which providers reach our API, or null for polling only. */
export function createCallbackUrls(keyring: Keyring, publicUrl: string | null): CallbackUrls {
  return {
    current: () => (publicUrl === null ? null : { base: publicUrl, keyId: keyring.keys[0].id }),
    url({ base, keyId, provider, submissionId }) {
      const key = keyring.keys.find(({ id }) => id === keyId);
      if (key === undefined)
        throw new Error('a live submission needs a retired key: put it back into KEYRING');
      return `${base}/callbacks/${provider}/${makeCallbackToken({ keys: [key] }, submissionId).token}`;
    },
  };
}
