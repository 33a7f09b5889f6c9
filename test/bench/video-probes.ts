import { findLatestVideo, listVideoPlaces, type VideoPageFilter } from '../../src/db/read-videos.ts';
import { VIDEO_ROUTE } from '../../src/domain/video-key.ts';
import { VIDEO_METHODS } from '../../src/domain/video-view.ts';
import type { Place, Probe } from './table-probes.ts';

const page = (name: string, of: (place: Place) => Partial<VideoPageFilter>): Probe => ({
  name: `videos: ${name}`,
  column: 'list',
  run(db, place) {
    const tenantId = place.tenants[0]!;
    const first = { tenantId, methods: VIDEO_METHODS, order: 'desc', after: null, limit: 21 } as const;
    return listVideoPlaces(db, { ...first, ...of(place) });
  },
});

/** What `/v1/videos` asks of tables that grow. */
export const VIDEO_PROBES: readonly Probe[] = [
  page('first page', () => ({})),
  page('deep page', ({ deep }) => ({ after: deep })),
  page('oldest', () => ({ order: 'asc' })),
  page('oldest, deep', ({ deep }) => ({ order: 'asc', after: deep })),
  {
    name: 'videos: the latest of equal requests',
    column: 'get',
    run: (db, { tenants }) =>
      findLatestVideo(db, {
        tenantId: tenants[0]!,
        route: VIDEO_ROUTE,
        digest: 'a'.repeat(64),
        windowMs: 60_000,
      }),
  },
];
