import type { Db } from './client.ts';
import type { Prisma } from './generated/client.ts';

const SHOWN = { callbacks: 50, webhooks: 50, actions: 100, events: 100 };

const PARTS = {
  hold: true,
  account: { select: { name: true } },
  submissions: { orderBy: { ordinal: 'asc' }, include: { lateSuccess: true, orphans: true } },
  outputs: { orderBy: { index: 'asc' } },
  webhooks: {
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: SHOWN.webhooks,
    include: { deliveries: { orderBy: { id: 'desc' }, include: { endpoint: { select: { url: true } } } } },
  },
  actions: { orderBy: { id: 'desc' }, take: SHOWN.actions },
  events: { orderBy: { seq: 'desc' }, take: SHOWN.events },
} satisfies Prisma.GenerationInclude;

/** A generation with all that its rows tell, but callbacks. */
export type OperatedRow = Prisma.GenerationGetPayload<{ include: typeof PARTS }>;

/** What else decides what to do about it. */
export interface Standing {
  readonly pause: { readonly kind: 'provider' | 'model' | 'tenant'; readonly target: string } | null;
  readonly closed: 'circuit_open' | 'daily_budget' | null;
  /** For how long its run should have written; 0 = in time, or ended. */
  readonly overdueMs: number;
  /** For how long its row has not moved. */
  readonly unmovedMs: number;
}

/** Null = there is no such generation. The newest 50 to 100 of what can be many. */
export function findOperated(db: Db, id: string): Promise<OperatedRow | null> {
  return db.prisma.generation.findUnique({ where: { id }, include: PARTS });
}

/** By the clock of the database. */
export async function readStanding(
  db: Db,
  { id, provider, model, tenantId }: Pick<OperatedRow, 'id' | 'provider' | 'model' | 'tenantId'>,
): Promise<Standing> {
  const [row] = await db.prisma.$queryRaw<
    (Omit<Standing, 'overdueMs' | 'unmovedMs'> & { overdueMs: number | null; unmovedMs: number | null })[]
  >`
    SELECT (SELECT jsonb_build_object('kind', kind, 'target', target) FROM pause
        WHERE (kind, target) IN (('tenant', ${tenantId}), ('model', ${model}), ('provider', ${provider}))
        ORDER BY array_position(ARRAY['tenant', 'model', 'provider'], kind) LIMIT 1) AS pause,
      CASE WHEN EXISTS (SELECT 1 FROM provider_circuit WHERE provider = ${provider}
          AND greatest(open_until, probe_until) > clock_timestamp()) THEN 'circuit_open'
        WHEN EXISTS (SELECT 1 FROM provider_budget WHERE provider = ${provider} AND reached_at >= day_start())
          THEN 'daily_budget' END AS closed,
      (SELECT greatest(extract(epoch FROM clock_timestamp() - due_at) * 1000, 0)::float8 FROM generation
        WHERE id = ${id} AND completed_at IS NULL) AS "overdueMs",
      (SELECT greatest(extract(epoch FROM clock_timestamp() - updated_at) * 1000, 0)::float8 FROM generation WHERE id = ${id}) AS "unmovedMs"`;
  const { pause = null, closed = null } = row ?? {};
  return { pause, closed, overdueMs: row?.overdueMs ?? 0, unmovedMs: row?.unmovedMs ?? 0 };
}
