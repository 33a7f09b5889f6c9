import { videoKeyRange } from '../domain/video-key.ts';
import type { Db } from './client.ts';
import { Prisma } from './generated/client.ts';

/** One row of a page of videos, in its order. */
export interface VideoPlace {
  readonly id: string;
  readonly createdAt: Date;
  /** Its content was erased: no video any more. */
  readonly isErased: boolean;
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
 * The next generations of these methods by (created_at, id), erased ones included. Ended rows are found by model, for
 * each a range of generation_ended_model; a model is taken for what its newest row is. Open rows are few.
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
  const ofTenant = Prisma.sql`g.tenant_id = ${tenantId} AND g.completed_at IS NOT NULL`;
  const page = Prisma.sql`ORDER BY g.created_at ${direction}, g.id ${direction} LIMIT ${limit}`;
  return db.prisma.$queryRaw<VideoPlace[]>`
    WITH RECURSIVE named AS (
      (SELECT g.model FROM generation g WHERE ${ofTenant} ORDER BY g.model LIMIT 1)
      UNION ALL
      SELECT (SELECT g.model FROM generation g WHERE ${ofTenant} AND g.model > named.model ORDER BY g.model LIMIT 1)
      FROM named WHERE named.model IS NOT NULL
    ), of_video AS (
      SELECT named.model FROM named WHERE (
        SELECT g.plan ->> 'method' FROM generation g WHERE ${ofTenant} AND g.model = named.model
        ORDER BY g.created_at DESC, g.id DESC LIMIT 1) = ANY (${[...methods]})
    )
    SELECT g.id, g.created_at AS "createdAt", g.is_erased AS "isErased" FROM (
      SELECT ended.* FROM of_video CROSS JOIN LATERAL (
        SELECT g.id, g.created_at, g.erased_at IS NOT NULL AS is_erased FROM generation g
        WHERE ${ofTenant} AND g.model = of_video.model AND ${since} ${page}) AS ended
      UNION ALL
      (SELECT g.id, g.created_at, false FROM generation g WHERE g.tenant_id = ${tenantId} AND g.completed_at IS NULL
        AND g.plan ->> 'method' = ANY (${[...methods]}) AND ${since} ${page})
    ) AS g ${page}`;
}

/** The newest of equal requests without a key, and whether a further one is the same request still. */
export interface LatestVideo {
  readonly key: string;
  /** Younger than the window by the database's clock, not erased, and not ended without success. */
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
      AND g.erased_at IS NULL AND g.state IN ('queued', 'running', 'succeeded') AS stands
    FROM generation g WHERE g.tenant_id = ${params.tenantId} AND g.idempotency_route = ${params.route}
      AND g.idempotency_key BETWEEN ${from} AND ${to} ORDER BY g.idempotency_key DESC LIMIT 1`;
  return rows[0] ?? null;
}
