import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from './json.ts';

/** Keys that callers send, and those that we derive, are unique per tenant each for itself. */
export const VIDEO_ROUTE = 'POST /v1/videos';
export const DERIVED_VIDEO_ROUTE = 'POST /v1/videos, derived';

/**
 * How long an equal request without a key is the same one, in milliseconds. Official clients send twice more, 60 s later at
 * most. httpx limits each read, not a try: 600 s for an answer that is lost, 60 s, a try (5 s to connect, 300 s of body as
 * server.ts allows, 600 s), 60 s. So the last one begins within 1,625 s; the rest is for proxies and queues before them.
 */
export const VIDEO_KEY_WINDOW_MS = 40 * 60_000;

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
