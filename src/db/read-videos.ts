import { videoKeyRange } from '../domain/video-key.ts';
import type { Db } from './client.ts';
import { Prisma } from './generated/client.ts';

/** One row of a page of videos, in its order. */
export interface VideoPlace {
  readonly id: string;
  readonly createdAt: Date;
  /** Its own plan makes a video, and it was not deleted (erased with no output there; findVideo has the same rule). */
  readonly isShown: boolean;
}

export interface VideoPageFilter {
  readonly tenantId: string;
  readonly methods: readonly string[];
  readonly order: 'asc' | 'desc';
  /** Only those behind this one in the order. */
  readonly after: { readonly createdAt: Date; readonly id: string } | null;
  readonly limit: number;
}

/**
 * The next generations by (created_at, id) of models that make, or made, videos. Ended rows are found by model, for each a
 * range of generation_ended_model, if its newest or its oldest row is of these methods; all in it count against the limit,
 * shown or not, so that a statement is bounded. Open rows are few.
 */
export function listVideoPlaces(
  db: Db,
  { tenantId, methods, order, after, limit }: VideoPageFilter,
): Promise<VideoPlace[]> {
  const [direction, beyond] =
    order === 'asc' ? [Prisma.sql`ASC`, Prisma.sql`>`] : [Prisma.sql`DESC`, Prisma.sql`<`];
  const since =
    after === null
      ? Prisma.sql`true`
      : Prisma.sql`(g.created_at, g.id) ${beyond} (${after.createdAt}, ${after.id})`;
  const ofMethods = Prisma.sql`= ANY (${[...methods]})`;
  const ofTenant = Prisma.sql`g.tenant_id = ${tenantId} AND g.completed_at IS NOT NULL`;
  const page = Prisma.sql`ORDER BY g.created_at ${direction}, g.id ${direction} LIMIT ${limit}`;
  return db.prisma.$queryRaw<VideoPlace[]>`
    WITH RECURSIVE named AS (
      (SELECT g.model FROM generation g WHERE ${ofTenant} ORDER BY g.model LIMIT 1)
      UNION ALL
      SELECT (SELECT g.model FROM generation g WHERE ${ofTenant} AND g.model > named.model ORDER BY g.model LIMIT 1)
      FROM named WHERE named.model IS NOT NULL
    ), of_video AS (
      SELECT named.model FROM named WHERE named.model IS NOT NULL AND (
        (SELECT g.plan ->> 'method' FROM generation g WHERE ${ofTenant} AND g.model = named.model
          ORDER BY g.created_at DESC, g.id DESC LIMIT 1) ${ofMethods}
        OR (SELECT g.plan ->> 'method' FROM generation g WHERE ${ofTenant} AND g.model = named.model
          ORDER BY g.created_at, g.id LIMIT 1) ${ofMethods})
    )
    SELECT g.id, g.created_at AS "createdAt", g.is_shown AS "isShown" FROM (
      SELECT ended.* FROM of_video CROSS JOIN LATERAL (
        SELECT g.id, g.created_at, g.plan ->> 'method' ${ofMethods}
            AND (g.erased_at IS NULL OR g.delivery IN ('stored', 'partial')) AS is_shown FROM generation g
        WHERE ${ofTenant} AND g.model = of_video.model AND ${since} ${page}) AS ended
      UNION ALL
      (SELECT g.id, g.created_at, true FROM generation g WHERE g.tenant_id = ${tenantId} AND g.completed_at IS NULL
        AND g.plan ->> 'method' ${ofMethods} AND ${since} ${page})
    ) AS g ${page}`;
}

/** The newest of equal requests without a key, and whether a further one is the same request still. */
export interface LatestVideo {
  readonly key: string;
  /**
   * Younger than the window by the database's clock, and to be had: not ended without success, its outputs not deleted, no
   * cancel asked that is undecided. One that goes on in spite of a cancel stands.
   */
  readonly stands: boolean;
}

/** null = there was none. The keys of a digest are a range of generation_idempotency. */
export async function findLatestVideo(
  db: Db,
  params: {
    readonly tenantId: string;
    readonly route: string;
    readonly digest: string;
    readonly windowMs: number;
  },
): Promise<LatestVideo | null> {
  const { from, to } = videoKeyRange(params.digest);
  const rows = await db.prisma.$queryRaw<LatestVideo[]>`
    SELECT g.idempotency_key AS key, g.created_at > now() - ${params.windowMs}::float8 * interval '1 millisecond'
      AND g.state IN ('queued', 'running', 'succeeded') AND g.delivery <> 'expired'
      AND g.cancel_outcome IS DISTINCT FROM 'requested' AS stands
    FROM generation g WHERE g.tenant_id = ${params.tenantId} AND g.idempotency_route = ${params.route}
      AND g.idempotency_key BETWEEN ${from} AND ${to} ORDER BY g.idempotency_key DESC LIMIT 1`;
  return rows[0] ?? null;
}
