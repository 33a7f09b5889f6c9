import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type Keyring, type RingKey } from './keyring.ts';

/** S3 caps presigned links at the same; see SURL-11. */
const MAX_LIFETIME_MS = 7 * 86_400_000;
const DEFAULT_LIFETIME_MS = 3_600_000;
/** A link may live a quarter longer than asked for, so that it stays the same text for that long. */
const LONGEST_ASKED_MS = (MAX_LIFETIME_MS * 4) / 5;
/** Between the clocks of two processes. */
const CLOCK_TOLERANCE_MS = 1_000;
const QUERY = /^expires=([1-9]\d{9,10})&key=([A-Za-z0-9_-]{1,32})&signature=([A-Za-z0-9_-]{43})$/;

const INVALID: LinkVerdict = { verdict: 'invalid' };
const NOBODY: LinkSigner = { tenantId: '', linkVersions: [1] };

/** Whose key signs: rotating a tenant's links raises its version. */
export interface LinkOwner {
  readonly tenantId: string;
  readonly linkVersion: number;
}

/** Whose key must have signed, by its present version or those that still count. */
export interface LinkSigner {
  readonly tenantId: string;
  readonly linkVersions: readonly number[];
}

/** What is linked to, by the path that serves it. */
export type LinkedFile =
  | { readonly kind: 'output'; readonly generationId: string; readonly index: number }
  | { readonly kind: 'input'; readonly inputId: string };

export interface FileLink {
  /** Absolute with PUBLIC_URL, else from the root of the API. */
  readonly url: string;
  readonly expiresAt: Date;
}

export type LinkVerdict =
  | { readonly verdict: 'valid'; readonly expiresAt: Date }
  | { readonly verdict: 'expired' | 'invalid' };

/** Signed links to stored files: whoever has one may read that file until its time, nothing else. */
export interface FileLinks {
  /**
   * A link that works for `lifetimeMs` (default 1 h) and up to a quarter longer, 7 days at most, never past `notAfter`;
   * null when that has passed. Within a quarter of its life the same text is made again, so that answers and their ETags
   * stay equal.
   */
  link(
    owner: LinkOwner,
    file: LinkedFile,
    options?: { readonly lifetimeMs?: number; readonly notAfter?: Date | null },
  ): FileLink | null;
  /**
   * Whether the query was signed by this owner for GET of this path and is still valid. Both as they were sent: nothing
   * is decoded. In constant time for every query of the right form; without an owner it does the same work for nothing.
   */
  verify(signer: LinkSigner | null, path: string, query: string): LinkVerdict;
}

/** The path that serves a file; from our own ids only. */
export function filePath(file: LinkedFile): string {
  return file.kind === 'output'
    ? `/files/outputs/${file.generationId}/${file.index}`
    : `/files/inputs/${file.inputId}`;
}

/** Links under the current key of the ring; every key of it verifies, so that rotation overlaps. */
export function createFileLinks(
  keyring: Keyring,
  publicUrl: string | null,
  nowMs: () => number = Date.now,
): FileLinks {
  return {
    link(owner, file, { lifetimeMs = DEFAULT_LIFETIME_MS, notAfter = null } = {}) {
      const now = nowMs();
      const lifeMs = Math.min(lifetimeMs, LONGEST_ASKED_MS);
      const stepMs = Math.ceil(lifeMs / 4_000) * 1_000;
      const aligned = Math.ceil((now + lifeMs) / stepMs) * stepMs;
      const expires = Math.floor(Math.min(aligned, notAfter?.getTime() ?? Infinity) / 1_000);
      if (expires * 1_000 <= now) return null;
      const path = filePath(file);
      const [key] = keyring.keys;
      const signature = sign(key, owner.tenantId, owner.linkVersion, path, expires).toString('base64url');
      return {
        url: `${publicUrl ?? ''}${path}?expires=${expires}&key=${key.id}&signature=${signature}`,
        expiresAt: new Date(expires * 1_000),
      };
    },
    verify(signer, path, query) {
      const [, expires, keyId, signature] = QUERY.exec(query) ?? [];
      const key = keyring.keys.find(({ id }) => id === keyId);
      if (expires === undefined || signature === undefined || key === undefined) return INVALID;
      const now = nowMs();
      const expiresMs = Number(expires) * 1_000;
      if (expiresMs > now + MAX_LIFETIME_MS + CLOCK_TOLERANCE_MS) return INVALID;
      const presented = Buffer.from(signature, 'base64url');
      // One byte string has one spelling only: base64url decoding itself is lax.
      if (presented.toString('base64url') !== signature) return INVALID;
      const { tenantId, linkVersions } = signer ?? NOBODY;
      const matches = linkVersions.map((version) =>
        timingSafeEqual(sign(key, tenantId, version, path, Number(expires)), presented),
      );
      if (signer === null || !matches.includes(true)) return INVALID;
      return expiresMs > now ? { verdict: 'valid', expiresAt: new Date(expiresMs) } : { verdict: 'expired' };
    },
  };
}

function sign(key: RingKey, tenantId: string, version: number, path: string, expires: number): Buffer {
  const tenantKey = createHmac('sha256', deriveKey(key, 'output-link'))
    .update(`${tenantId}\n${version}`)
    .digest();
  return createHmac('sha256', tenantKey).update(`GET\n${path}\n${expires}`).digest();
}
