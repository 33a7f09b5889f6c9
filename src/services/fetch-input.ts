import { sizeAdvice, type MediaLimits } from '../domain/media-limits.ts';
import type { ServiceContext } from './context.ts';
import { storeInput } from './store-input.ts';

const TOTAL_MS = 15_000;
const IDLE_MS = 5_000;
/** How long it stays when no generation comes of it. */
const KEEP_MS = 86_400_000;

/**
 * One text for all that can go wrong on the way, whether the target is forbidden, silent, shut, or says no: else the
 * difference would tell a caller what our network looks like (SSRF-8).
 */
const UNREACHABLE =
  'Could not be fetched: check that the URL answers 200 to anybody within 15 seconds, or upload the file (POST /v1/inputs).';

export type FetchInputOutcome =
  | { readonly outcome: 'fetched'; readonly inputId: string }
  | { readonly outcome: 'unusable'; readonly message: string }
  | { readonly outcome: 'busy' | 'scan_failed' };

/**
 * Copies what lies at a tenant's URL into an input of it, through the guarded way out: every hop is checked, no
 * credential and no header of ours goes along, and nothing of an answer that is not the file is ever shown.
 */
export async function fetchInput(
  ctx: Pick<ServiceContext, 'db' | 'storage' | 'scan' | 'nowMs' | 'http' | 'inputSlots'>,
  {
    tenantId,
    url,
    limits,
  }: { readonly tenantId: string; readonly url: string; readonly limits: MediaLimits },
): Promise<FetchInputOutcome> {
  const release = ctx.inputSlots.fetches.take(tenantId);
  if (release === null) return { outcome: 'busy' };
  try {
    const file = { tenantId, source: 'url', idempotencyKey: null, keepMs: KEEP_MS, limits } as const;
    const stored = await storeInput(ctx, file, async (write) => {
      const answer = await ctx.http.download({
        url,
        hosts: 'any',
        headersFor: () => ({}),
        limits: { maxBytes: limits.maxBytes, idleMs: IDLE_MS, totalMs: TOTAL_MS },
        // Its own limits end it; the caller's going away does not, since the same key may come again.
        signal: new AbortController().signal,
        write,
      });
      if (answer.kind === 'complete') return null;
      return answer.kind === 'rejected' && answer.reason === 'too_large' ? 'too_large' : 'unreachable';
    });
    switch (stored.outcome) {
      case 'created':
        return { outcome: 'fetched', inputId: stored.inputId };
      case 'not_received':
        return {
          outcome: 'unusable',
          message: stored.failure === 'too_large' ? sizeAdvice(limits) : UNREACHABLE,
        };
      case 'unusable':
        return { outcome: 'unusable', message: stored.message };
      case 'scan_failed':
        return stored;
      case 'replayed':
      case 'key_reuse':
        throw new Error('a fetched input has no key');
    }
  } finally {
    release();
  }
}
