import type { Db } from './client.ts';

export const REPORT_COLUMNS = ['tenant', 'account', 'model', 'day', 'provider'] as const;
/** What a report is grouped by; a day is `YYYY-MM-DD`, in UTC. */
export type ReportColumn = (typeof REPORT_COLUMNS)[number];

/** From the first moment to before the last one, of one tenant or (null) of all. */
export interface ReportWindow {
  readonly from: Date;
  readonly before: Date;
  readonly tenantId: string | null;
}

/** Counts and credits of one group where `unit` is null, else what its submissions cost in that unit. */
export interface UsageFact {
  /** The values of the columns that were asked for, in their order; null = of the whole window. */
  readonly key: readonly string[] | null;
  readonly generations: bigint;
  readonly succeeded: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
  readonly unit: string | null;
  /** Exact decimal texts. */
  readonly final: string;
  readonly estimated: string;
  /** Jobs that may be billed, and nobody has said for how much. */
  readonly withoutCost: bigint;
}

const EXPRESSIONS: Readonly<Record<ReportColumn, string>> = {
  tenant: 'f.tenant_id',
  account: 'a.name',
  model: 'f.model',
  day: `to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  provider: 'f.provider',
};

/** What an orphan job is expected to cost: the frozen estimate of its route, else what its submission cost. */
export const ORPHAN_COST = `LATERAL (SELECT g.plan -> 'routes' -> s.route_index -> 'estimatedCost' AS estimate) AS r,
    LATERAL (SELECT coalesce(r.estimate ->> 'unit', s.cost_unit) AS unit,
      CASE WHEN r.estimate ->> 'unit' IS NOT NULL THEN (r.estimate ->> 'amount')::numeric ELSE s.cost_amount END AS amount) AS c`;

/**
 * Every fact of the window, by ranges of existing indexes: generation_list for each tenant, ledger_entry_history of the
 * revenue account, submission_spend for each provider (their names are read by skipping through it).
 */
function factsSql(ofTenant: string): string {
  const inWindow = (at: string) => `${at} >= $1::timestamptz AND ${at} < $2::timestamptz`;
  return `WITH RECURSIVE known AS (
    (SELECT provider FROM submission ORDER BY provider LIMIT 1)
    UNION ALL
    SELECT (SELECT s.provider FROM submission s WHERE s.provider > k.provider ORDER BY s.provider LIMIT 1)
    FROM known k WHERE k.provider IS NOT NULL
  ), sent AS (
    SELECT s.id, s.generation_id, s.provider, s.route_index, s.state, s.provider_job_id, s.cost_amount, s.cost_unit, s.cost_final,
      coalesce(s.first_sent_at, s.accepted_at, s.created_at) AS at, g.tenant_id, g.account_id, g.model
    FROM known k JOIN submission s ON s.provider = k.provider AND (${inWindow('s.first_sent_at')}
      OR s.first_sent_at IS NULL AND s.cost_amount IS NOT NULL AND ${inWindow('coalesce(s.accepted_at, s.created_at)')})
    JOIN generation g ON g.id = s.generation_id${ofTenant}
  ), facts AS (
    SELECT g.tenant_id, g.account_id, g.model, g.provider, g.created_at AS at, 1 AS generations, 0 AS succeeded, 0::bigint AS captured,
      0::bigint AS refunded, NULL::text AS unit, NULL::numeric AS final, NULL::numeric AS estimated, 0 AS without_cost
    FROM tenant t JOIN generation g ON g.tenant_id = t.id AND ${inWindow('g.created_at')}${ofTenant}
    UNION ALL
    SELECT g.tenant_id, g.account_id, g.model, g.provider, e.created_at, 0, CASE t.kind WHEN 'capture' THEN 1 ELSE 0 END,
      CASE t.kind WHEN 'capture' THEN e.amount ELSE 0 END, CASE t.kind WHEN 'refund' THEN -e.amount ELSE 0 END, NULL, NULL, NULL, 0
    FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id JOIN generation g ON g.id = t.generation_id${ofTenant}
    WHERE e.account_id = 'sys_revenue' AND ${inWindow('e.created_at')}
    UNION ALL
    SELECT tenant_id, account_id, model, provider, at, 0, 0, 0, 0, cost_unit, CASE WHEN cost_final THEN cost_amount END,
      CASE WHEN NOT cost_final THEN cost_amount END, CASE WHEN cost_amount IS NULL THEN 1 ELSE 0 END
    FROM sent WHERE cost_amount IS NOT NULL OR provider_job_id IS NOT NULL OR state IN ('sending', 'unknown')
    UNION ALL
    SELECT g.tenant_id, g.account_id, g.model, o.provider, s.at, 0, 0, 0, 0, c.unit, NULL, c.amount, CASE WHEN c.unit IS NULL THEN 1 ELSE 0 END
    FROM orphan_job o JOIN sent s ON s.id = o.submission_id JOIN generation g ON g.id = s.generation_id, ${ORPHAN_COST}
  )`;
}

/**
 * Usage and provider costs of a window by these columns, and of the whole window. A generation belongs to the day it was
 * created, a capture or refund to its own day (succeeded means captured), a cost to the day its submission was first sent.
 * Credits stand at the provider that the generation went to last, a cost where it was sent to.
 * @returns at most `limit` facts; the caller asks for one more than it can take.
 */
export async function readUsage(
  db: Db,
  window: ReportWindow,
  by: readonly ReportColumn[],
  limit: number,
): Promise<UsageFact[]> {
  const keys = by.map((column) => EXPRESSIONS[column]);
  const sets = keys.length === 0 ? '(f.unit)' : `GROUPING SETS ((${keys.join(', ')}, f.unit), (f.unit))`;
  const key =
    keys.length === 0
      ? 'NULL::text[]'
      : `CASE WHEN grouping(${keys[0]}) = 0 THEN ARRAY[${keys.join(', ')}]::text[] END`;
  const { from, before, tenantId } = window;
  return db.prisma.$queryRawUnsafe<UsageFact[]>(
    `${factsSql(tenantId === null ? '' : ' AND g.tenant_id = $3')}
    SELECT ${key} AS key, sum(f.generations)::bigint AS generations, sum(f.succeeded)::bigint AS succeeded,
      sum(f.captured)::bigint AS captured, sum(f.refunded)::bigint AS refunded, f.unit,
      trim_scale(coalesce(sum(f.final), 0))::text AS final, trim_scale(coalesce(sum(f.estimated), 0))::text AS estimated,
      sum(f.without_cost)::bigint AS "withoutCost"
    FROM facts f JOIN ledger_account a ON a.id = f.account_id
    GROUP BY ${sets} ORDER BY 1 NULLS FIRST, f.unit NULLS FIRST LIMIT ${Math.trunc(limit)}`,
    from.toISOString(),
    before.toISOString(),
    ...(tenantId === null ? [] : [tenantId]),
  );
}

/** The present UTC day as `YYYY-MM-DD`, by the database's clock. */
export async function readToday(db: Db): Promise<string> {
  const [row] = await db.prisma.$queryRaw<
    { day: string }[]
  >`SELECT to_char(day_start(), 'YYYY-MM-DD') AS day`;
  if (row === undefined) throw new Error('the database told no day');
  return row.day;
}

/** The units in which the newest jobs of a provider were billed or estimated. */
export async function listCostUnits(db: Db, provider: string): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ unit: string }[]>`
    SELECT DISTINCT cost_unit AS unit FROM (SELECT cost_unit FROM submission WHERE provider = ${provider} AND first_sent_at IS NOT NULL
      ORDER BY first_sent_at DESC LIMIT 1000) AS newest WHERE cost_unit IS NOT NULL ORDER BY 1`;
  return rows.map(({ unit }) => unit);
}
