import { deleteOutputs, eraseGeneration } from '../db/index.ts';
import type { ServiceContext } from './context.ts';
import { findVideoRow } from './read-video.ts';

/**
 * Deletes the file and erases what was asked for, for good; credits, times and the record stay. In this order, so that one
 * that was cut in between is still a video, and is deleted by a repeat; a repeat of all of it changes nothing.
 */
export async function deleteVideo(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<{ readonly outcome: 'deleted' | 'not_found' | 'not_terminal' }> {
  if ((await findVideoRow(ctx, { tenantId, id })) === null) return { outcome: 'not_found' };
  const { outcome } = await deleteOutputs(ctx.db, { generationId: id, tenantId });
  if (outcome !== 'deleting') return { outcome };
  const erased = await eraseGeneration(ctx.db, { generationId: id, tenantId });
  return { outcome: erased.outcome === 'erased' ? 'deleted' : erased.outcome };
}
