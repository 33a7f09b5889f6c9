import { recordInput, type NewInput } from '../db/index.ts';
import { newId } from '../domain/ids.ts';
import { mediaProblem, type MediaLimits } from '../domain/media-limits.ts';
import { createMediaCheck, type MediaVerdict, type PendingFile } from '../storage/index.ts';
import type { ServiceContext } from './context.ts';
import { StorageUnavailable } from './failures.ts';

/** The scanner has a limit of its own; this one is for a scanner that forgets it. */
const SCAN_LIMIT_MS = 10 * 60_000;

/** What a received file is good for. `stored` and `replayed` name a row; in all other cases nothing is left of it. */
export type StoreInputOutcome<F> =
  | { readonly outcome: 'created' | 'replayed' | 'key_reuse'; readonly inputId: string }
  | { readonly outcome: 'not_received'; readonly failure: F }
  | { readonly outcome: 'unusable'; readonly kind: UnusableKind; readonly message: string }
  | { readonly outcome: 'scan_failed' };

export type UnusableKind = 'empty' | 'damaged' | 'type' | 'size' | 'dimensions' | 'infected';

type NewFile = Pick<NewInput, 'tenantId' | 'source' | 'idempotencyKey' | 'keepMs'> & {
  readonly limits: MediaLimits;
};

/**
 * Streams a file into the storage, checks what its bytes are, has it scanned, and only then makes it an input of the
 * tenant. `receive` hands on every chunk and tells why the whole did not come, or null. The file is never in memory.
 * @throws StorageUnavailable, and what `receive` or the database throws
 */
export async function storeInput<F>(
  ctx: Pick<ServiceContext, 'db' | 'storage' | 'scan' | 'nowMs'>,
  { limits, ...facts }: NewFile,
  receive: (write: (chunk: Uint8Array) => Promise<void>) => Promise<F | null>,
): Promise<StoreInputOutcome<F>> {
  const inputId = newId('inp', ctx.nowMs());
  const file = await inStorage(() => ctx.storage.create(pathOf(inputId)));
  try {
    const check = createMediaCheck();
    let bytes = 0;
    const failure = await receive(async (chunk) => {
      bytes += chunk.length;
      check.write(chunk);
      await inStorage(() => file.write(chunk));
    });
    if (failure !== null) return { outcome: 'not_received', failure };
    const media = judge(check.finish(bytes), bytes, limits);
    if ('outcome' in media) return media;
    return await keep(ctx, file, { ...facts, ...media, inputId });
  } finally {
    // What cannot be removed now is temporary, and removed by a later check of the storage.
    await file.discard().catch(() => undefined);
  }
}

type Media = Pick<NewInput, 'mediaType' | 'width' | 'height' | 'durationSeconds'>;

function judge(
  verdict: MediaVerdict,
  bytes: number,
  limits: MediaLimits,
): Media | Extract<StoreInputOutcome<never>, { outcome: 'unusable' }> {
  if (!verdict.ok) {
    switch (verdict.reason) {
      case 'empty':
        return { outcome: 'unusable', kind: 'empty', message: 'Is empty.' };
      case 'truncated':
        return {
          outcome: 'unusable',
          kind: 'damaged',
          message: 'Is damaged or cut off: send the whole file.',
        };
      case 'unknown_type':
        return {
          outcome: 'unusable',
          kind: 'type',
          message: `Is of no kind that is taken here: use one of ${limits.mediaTypes.join(', ')}.`,
        };
    }
  }
  const { mediaType, width, height, durationSeconds } = verdict;
  const problem = mediaProblem({ mediaType, bytes, width, height }, limits);
  if (problem !== null) return { outcome: 'unusable', ...problem };
  return { mediaType, width, height, durationSeconds };
}

/** Commits, scans, records. A file that is not recorded is removed again. */
async function keep(
  ctx: Pick<ServiceContext, 'db' | 'storage' | 'scan'>,
  file: PendingFile,
  facts: Media & Pick<NewInput, 'inputId' | 'tenantId' | 'source' | 'idempotencyKey' | 'keepMs'>,
): Promise<StoreInputOutcome<never>> {
  const path = pathOf(facts.inputId);
  let stays = false;
  try {
    const stored = await inStorage(() => file.commit());
    const read = () => ctx.storage.read(path);
    const verdict = await ctx.scan(
      { bytes: stored.bytes, mediaType: facts.mediaType, read },
      AbortSignal.timeout(SCAN_LIMIT_MS),
    );
    if (verdict.kind === 'failed') return { outcome: 'scan_failed' };
    if (verdict.kind === 'infected') {
      const message = 'Did not pass the virus scan, and was removed.';
      return { outcome: 'unusable', kind: 'infected', message };
    }
    // If the database goes away in this call the row may stand all the same, so the file stays; without a row it is an orphan.
    stays = true;
    const recorded = await recordInput(ctx.db, { ...facts, ...stored });
    stays = recorded.outcome === 'created';
    return recorded;
  } finally {
    // Also after a commit that failed: it may have come through. What cannot be removed is found as a file without a row.
    if (!stays) await ctx.storage.remove(path).catch(() => undefined);
  }
}

/** An input has one file, of one attempt. */
function pathOf(inputId: string): string {
  return `${inputId}/0-1`;
}

async function inStorage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw new StorageUnavailable(error);
  }
}
