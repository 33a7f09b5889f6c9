import { listVideoPlaces, type VideoPlace } from '../db/read-videos.ts';
import { findGeneration, readGenerationsById } from '../db/read-generations.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { VIDEO_METHODS, viewVideo, type VideoView } from '../domain/video-view.ts';
import type { ServiceContext } from './context.ts';
import { generationFacts } from './generation-facts.ts';

export interface ListVideosInput {
  readonly tenantId: string;
  readonly order: 'asc' | 'desc';
  /** `last_id` of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface VideoPage {
  readonly data: readonly VideoView[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  /** Of the last one; of an empty page with more behind it the last place that was looked at. */
  readonly last_id: string | null;
}

/** Deleted videos stand between the others: a page that has one ends after so many rows, one that has none after more. */
const MAX_LOOKED_AT = 5_000;
const MAX_LOOKED_AT_FOR_ONE = 50_000;
const MAX_ROUND = 2_000;

/**
 * One page by time of creation. Among very many deleted videos a page may end early, with `has_more`; where it found none
 * among so many that one call must end, it is empty, and its `last_id` leads on. Official clients take that for the last
 * page, which it mostly is: behind so many there is rarely another, and an error would end each of their lists.
 * @returns null for an `after` that is no generation of the tenant
 */
export async function listVideos(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  { tenantId, order, after, limit }: ListVideosInput,
): Promise<VideoPage | null> {
  // A place is also one that was deleted, or is of another method: an empty page may end there.
  const start = after === undefined ? null : await findGeneration(ctx.db, tenantId, after);
  if (after !== undefined && start === null) return null;
  const { shown, hasMore, endId } = await findPage(ctx, { tenantId, order, limit, start });
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
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? endId };
}

interface FoundPlaces {
  readonly shown: readonly VideoPlace[];
  readonly hasMore: boolean;
  /** Where the search ended while there was more. */
  readonly endId: string | null;
}

async function findPage(
  { db }: Pick<ServiceContext, 'db'>,
  search: Omit<ListVideosInput, 'after'> & { readonly start: { createdAt: Date; id: string } | null },
): Promise<FoundPlaces> {
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
    const most = found.length > 0 ? MAX_LOOKED_AT : MAX_LOOKED_AT_FOR_ONE;
    if (found.length <= limit && lookedAt >= most) {
      return { shown: found, hasMore: true, endId: after?.id ?? null };
    }
  }
  return { shown: found.slice(0, limit), hasMore: found.length > limit, endId: null };
}
