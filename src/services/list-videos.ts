import { listVideoPlaces, type VideoPlace } from '../db/read-videos.ts';
import { readGenerationsById } from '../db/read-generations.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { VIDEO_METHODS, viewVideo, type VideoView } from '../domain/video-view.ts';
import type { ServiceContext } from './context.ts';
import { generationFacts } from './generation-facts.ts';
import { findVideoRow } from './read-video.ts';

export interface ListVideosInput {
  readonly tenantId: string;
  readonly order: 'asc' | 'desc';
  /** Id of the last video of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface VideoPage {
  readonly data: readonly VideoView[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/** Deleted videos stand between the others: a page that has one ends after so many rows. */
const MAX_LOOKED_AT = 5_000;
const MAX_ROUND = 2_000;

/**
 * One page by time of creation. Among very many deleted videos a page may end early, with `has_more`, but not before it has
 * one: clients take an empty page for the last. @returns null for an `after` that is no video of the tenant
 */
export async function listVideos(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  { tenantId, order, after, limit }: ListVideosInput,
): Promise<VideoPage | null> {
  // One that was deleted since is still a place.
  const start = after === undefined ? null : await findVideoRow(ctx, { tenantId, id: after });
  if (after !== undefined && start === null) return null;
  const { shown, hasMore } = await findPage(ctx, { tenantId, order, limit, start });
  const rows = await readGenerationsById(
    ctx.db,
    tenantId,
    shown.map(({ id }) => id),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const data = shown.flatMap(({ id }) => {
    const row = byId.get(id);
    return row === undefined ? [] : [viewVideo(viewGeneration(generationFacts(row, ctx.links)))];
  });
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

async function findPage(
  { db }: Pick<ServiceContext, 'db'>,
  search: Omit<ListVideosInput, 'after'> & { readonly start: { createdAt: Date; id: string } | null },
): Promise<{ readonly shown: readonly VideoPlace[]; readonly hasMore: boolean }> {
  const { tenantId, order, limit, start } = search;
  const found: VideoPlace[] = [];
  let after = start;
  let lookedAt = 0;
  // One more than asked for tells whether there is another page.
  for (let round = limit + 1; found.length <= limit; round = Math.min(round * 4, MAX_ROUND)) {
    const places = await listVideoPlaces(db, {
      tenantId,
      methods: VIDEO_METHODS,
      order,
      after,
      limit: round,
    });
    found.push(...places.filter(({ isShown }) => isShown));
    if (places.length < round) break;
    after = places.at(-1) ?? null;
    lookedAt += places.length;
    // Whoever goes on from an empty page by its last video has none to go on from.
    if (found.length > 0 && found.length <= limit && lookedAt >= MAX_LOOKED_AT) {
      return { shown: found, hasMore: true };
    }
  }
  return { shown: found.slice(0, limit), hasMore: found.length > limit };
}
