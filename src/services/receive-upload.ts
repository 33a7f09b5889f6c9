import { findInputs } from '../db/index.ts';
import { viewInput, type InputView } from '../domain/input-view.ts';
import { UPLOAD_LIMITS } from '../domain/media-limits.ts';
import type { ServiceContext } from './context.ts';
import { storeInput, type UnusableKind } from './store-input.ts';

export type ReceiveUploadOutcome =
  | { readonly outcome: 'created' | 'replayed'; readonly input: InputView }
  | { readonly outcome: 'unusable'; readonly kind: UnusableKind; readonly message: string }
  | { readonly outcome: 'key_reuse' | 'deleted' | 'scan_failed' };

/**
 * Makes what `receive` hands on an input of the tenant, once per key; the same key with the same bytes tells the first.
 * @param receive throws when the whole file did not come; its throw is the caller's
 */
export async function receiveUpload(
  ctx: Pick<ServiceContext, 'db' | 'storage' | 'scan' | 'nowMs' | 'retentionMs'>,
  { tenantId, idempotencyKey }: { readonly tenantId: string; readonly idempotencyKey: string },
  receive: (write: (chunk: Uint8Array) => Promise<void>) => Promise<void>,
): Promise<ReceiveUploadOutcome> {
  const keepMs = ctx.retentionMs;
  const file = { tenantId, source: 'upload', idempotencyKey, keepMs, limits: UPLOAD_LIMITS } as const;
  const stored = await storeInput<never>(ctx, file, async (write) => {
    await receive(write);
    return null;
  });
  switch (stored.outcome) {
    case 'created':
    case 'replayed': {
      const [row] = await findInputs(ctx.db, tenantId, [stored.inputId]);
      // Its key stays taken for as long as its row, which outlives the file.
      return row === undefined ? { outcome: 'deleted' } : { outcome: stored.outcome, input: viewInput(row) };
    }
    case 'key_reuse':
      return { outcome: 'key_reuse' };
    case 'not_received':
      throw new Error('an upload that did not come throws');
    default:
      return stored;
  }
}
