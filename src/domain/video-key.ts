import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from './json.ts';

/** Keys that callers send, and those that we derive, are unique per tenant each for itself. */
export const VIDEO_ROUTE = 'POST /v1/videos';
export const DERIVED_VIDEO_ROUTE = 'POST /v1/videos, derived';

/**
 * How long an equal request without a key is the same request, in milliseconds. Official clients give each try ten
 * minutes and re-send twice, with at most a minute between (openai-node client.ts): the last one begins within 22 minutes.
 */
export const VIDEO_KEY_WINDOW_MS = 25 * 60_000;

const ORDINAL_DIGITS = 10;

/** What makes two requests without a key equal: who asks, by which API key, and all that was asked; lower-case hex. */
export function videoDigest(actor: string, request: JsonObject): string {
  return createHash('sha256')
    .update(`${DERIVED_VIDEO_ROUTE}\n${actor}\n${canonicalJson(request)}`)
    .digest('hex');
}

/** The key of the n-th video of equal requests, from 1: those of one digest sort by number, as texts. */
export function videoKey(digest: string, ordinal: number): string {
  return `${digest}${String(ordinal).padStart(ORDINAL_DIGITS, '0')}`;
}

/** The first and the last key that a digest can have. */
export function videoKeyRange(digest: string): { readonly from: string; readonly to: string } {
  return { from: videoKey(digest, 0), to: videoKey(digest, 10 ** ORDINAL_DIGITS - 1) };
}

/** Which of the equal requests a key stands for. */
export function ordinalOf(key: string): number {
  return Number(key.slice(-ORDINAL_DIGITS));
}
