import { createHash } from 'node:crypto';
import { dropFetchedInputs } from '../db/index.ts';
import { UPLOAD_LIMITS } from '../domain/media-limits.ts';
import type { StoredReference } from '../domain/video-request.ts';
import type { ServiceContext } from './context.ts';
import { storeInput } from './store-input.ts';

/** How long it stays when no generation comes of it. */
const KEEP_MS = 86_400_000;

export type StoreReferenceOutcome =
  | StoredReference
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'busy' | 'scan_failed' };

type Stores = Pick<ServiceContext, 'db' | 'storage' | 'scan' | 'nowMs' | 'inputSlots'>;

/**
 * Makes a file that comes with the request an input of the tenant, without a key of its own: `dropReference` lets go of
 * it when no generation comes of the request.
 * @param receive hands on every chunk; throws when the whole file did not come
 */
export async function storeReference(
  ctx: Stores,
  tenantId: string,
  receive: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>,
): Promise<StoreReferenceOutcome> {
  const release = ctx.inputSlots.uploads.take(tenantId);
  if (release === null) return { kind: 'busy' };
  try {
    const hash = createHash('sha256');
    const file = {
      tenantId,
      source: 'url',
      idempotencyKey: null,
      keepMs: KEEP_MS,
      limits: UPLOAD_LIMITS,
    } as const;
    const stored = await storeInput<never>(ctx, file, async (write) => {
      await receive((chunk) => {
        hash.update(chunk);
        return write(chunk);
      });
      return null;
    });
    switch (stored.outcome) {
      case 'created':
        return { kind: 'stored', inputId: stored.inputId, sha256: hash.digest('hex') };
      case 'unusable':
        return { kind: 'unusable', message: stored.message };
      case 'scan_failed':
        return { kind: 'scan_failed' };
      case 'replayed':
      case 'key_reuse':
      case 'not_received':
        throw new Error('a file without a key is stored anew or refused');
    }
  } finally {
    release();
  }
}

/** Lets go, soon, of a file that no generation works from. */
export async function dropReference(
  ctx: Pick<ServiceContext, 'db'>,
  tenantId: string,
  reference: { readonly inputId: string },
): Promise<void> {
  await dropFetchedInputs(ctx.db, tenantId, [reference.inputId]);
}
