import { findGeneration, type GenerationRow } from '../db/index.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { shownPlanSchema } from '../domain/plan.ts';
import { isVideoMethod } from '../domain/video-view.ts';
import type { ServiceContext } from './context.ts';
import type { FoundFile } from './find-linked-file.ts';
import { generationFacts } from './generation-facts.ts';

interface VideoId {
  readonly tenantId: string;
  readonly id: string;
}

/** The row of a video, deleted or not; null for all else: malformed, unknown, another tenant's, of another method. */
export async function findVideoRow(
  { db }: Pick<ServiceContext, 'db'>,
  { tenantId, id }: VideoId,
): Promise<GenerationRow | null> {
  if (!GENERATION_ID.test(id)) return null;
  const row = await findGeneration(db, tenantId, id);
  return row !== null && isVideoMethod(shownPlanSchema.parse(row.plan).method) ? row : null;
}

/** Those whose outputs are still there; listVideoPlaces has the same rule. */
const KEPT: ReadonlySet<string> = new Set(['stored', 'partial']);

/** The row of a video; null also once it was deleted: its content erased, and no output there (any more). */
export async function findVideo(
  ctx: Pick<ServiceContext, 'db'>,
  video: VideoId,
): Promise<GenerationRow | null> {
  const row = await findVideoRow(ctx, video);
  return row === null || (row.erasedAt !== null && !KEPT.has(row.delivery)) ? null : row;
}

/** A generation that makes, or made, a video; null also once it was deleted. */
export async function getVideo(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  video: VideoId,
): Promise<GenerationView | null> {
  const row = await findVideo(ctx, video);
  return row === null ? null : viewGeneration(generationFacts(row, ctx.links));
}

export type VideoFileOutcome =
  | FoundFile
  | { readonly outcome: 'not_found' | 'not_finished' | 'not_made' | 'deleted' };

/** The file of a video: its first output that is still there, and not past its time. */
export async function findVideoFile(
  ctx: Pick<ServiceContext, 'db' | 'nowMs'>,
  video: VideoId,
): Promise<VideoFileOutcome> {
  const row = await findVideo(ctx, video);
  if (row === null) return { outcome: 'not_found' };
  if (row.completedAt === null) return { outcome: 'not_finished' };
  if (row.state !== 'succeeded') return { outcome: 'not_made' };
  const now = ctx.nowMs();
  const output = row.outputs.find(
    ({ state, expiresAt: until }) => state === 'stored' && (until === null || until.getTime() > now),
  );
  if (output === undefined) return { outcome: 'deleted' };
  const { path, bytes, sha256, mediaType, expiresAt, index } = output;
  if (path === null || bytes === null || sha256 === null || mediaType === null) {
    throw new Error('a stored output without its file');
  }
  return {
    outcome: 'found',
    linked: { kind: 'output', generationId: row.id, index },
    tenantId: row.tenantId,
    file: { path, bytes, sha256, mediaType },
    linkExpiresAt: expiresAt ?? new Date(8.64e15),
  };
}
