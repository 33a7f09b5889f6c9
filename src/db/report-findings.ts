import type { Db } from './client.ts';
import { ORPHAN_COST } from './report.ts';
import type { ReportWindow } from './report.ts';

/** The newest ones of a kind, and how many there are in all. */
export interface Findings<T> {
  readonly count: number;
  readonly items: readonly T[];
}

interface OfGeneration {
  readonly tenant: string;
  readonly generation: string;
  /** RFC 3339, UTC. */
  readonly at: string;
}

/** A decimal text in the provider's own unit; null = nobody has said. */
interface Cost {
  readonly amount: string | null;
  readonly unit: string | null;
  readonly final: boolean;
}

type Job = OfGeneration & Cost & { readonly provider: string; readonly job: string };
type Duration = OfGeneration & {
  readonly output: number;
  readonly priced_seconds: number;
  readonly rendered_seconds: number;
};
type PartialDelivery = OfGeneration & {
  readonly model: string;
  readonly stored: number;
  readonly expected: number;
  readonly captured: number;
  readonly held: number;
};
type Refund = OfGeneration & { readonly credits: number; readonly reason: string; readonly actor: string };
type Parked = OfGeneration & {
  readonly model: string;
  readonly reason: string;
  readonly deadline_at: string;
};
interface Stray {
  readonly at: string;
  readonly provider: string;
  readonly job: string;
  readonly found_by: string;
}
interface Budget {
  readonly provider: string;
  readonly day: string;
  readonly amount: string;
  readonly spent: string;
  readonly unit: string;
  /** When the first submit was refused; null = none has been yet. */
  readonly at: string | null;
}

/** What a person should look into. Those that need an operator are those of now, whenever they were parked. */
export interface ToLookInto {
  readonly late_successes: Findings<Job>;
  readonly orphan_jobs: Findings<Job>;
  readonly durations: Findings<Duration>;
  readonly partial_deliveries: Findings<PartialDelivery>;
  readonly refunds: Findings<Refund>;
  readonly needs_operator: Findings<Parked>;
  readonly budgets_reached: Findings<Budget>;
  /** Of no tenant that is known. */
  readonly stray_jobs: Findings<Stray>;
}

/** Kept of each kind; the count tells of the rest. */
const MAX_ITEMS = 100;

const ID = `g.tenant_id AS tenant, g.id AS generation`;

/** Ledger entries of the revenue account in the window, by ledger_entry_history. */
const REVENUE = `ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id JOIN generation g ON g.id = t.generation_id
  JOIN hold h ON h.generation_id = g.id`;
const OF_REVENUE = `e.account_id = 'sys_revenue' AND e.created_at >= $1::timestamptz AND e.created_at < $2::timestamptz`;

/** Each has `count(*) OVER ()` as `total` put before it, and the window as `$1`, `$2`, the tenant as `$3`. */
const QUERIES = {
  late_successes: `${ID}, iso_time(l.observed_at) AS at, s.provider, coalesce(s.provider_job_id, '') AS job,
      trim_scale(s.cost_amount)::text AS amount, s.cost_unit AS unit, coalesce(s.cost_final, false) AS final
    FROM late_success l JOIN submission s ON s.id = l.submission_id JOIN generation g ON g.id = l.generation_id
    WHERE l.observed_at >= $1::timestamptz AND l.observed_at < $2::timestamptz`,
  orphan_jobs: `${ID}, iso_time(o.created_at) AS at, o.provider, o.provider_job_id AS job,
      trim_scale(c.amount)::text AS amount, c.unit, false AS final
    FROM orphan_job o JOIN submission s ON s.id = o.submission_id JOIN generation g ON g.id = s.generation_id, ${ORPHAN_COST}
    WHERE o.created_at >= $1::timestamptz AND o.created_at < $2::timestamptz`,
  durations: `${ID}, iso_time(x.stored_at) AS at, x.index AS output, x.priced_seconds, x.duration_seconds AS rendered_seconds
    FROM output x JOIN generation g ON g.id = x.generation_id
    WHERE abs(x.duration_seconds - x.priced_seconds) > 0.5 AND x.stored_at >= $1::timestamptz AND x.stored_at < $2::timestamptz`,
  partial_deliveries: `${ID}, iso_time(e.created_at) AS at, g.model, n.stored, n.expected, h.captured::float8 AS captured,
      h.amount::float8 AS held
    FROM ${REVENUE}, LATERAL (SELECT count(*) FILTER (WHERE x.state IN ('stored', 'deleting', 'deleted'))::int AS stored,
      greatest((g.plan -> 'outputs' ->> 'count')::int, count(*)::int) AS expected FROM output x WHERE x.generation_id = g.id) AS n
    WHERE ${OF_REVENUE} AND t.kind = 'capture' AND g.delivery IN ('partial', 'expired') AND n.stored < n.expected`,
  refunds: `${ID}, iso_time(e.created_at) AS at, (-e.amount)::float8 AS credits, t.reason, t.actor
    FROM ${REVENUE} WHERE ${OF_REVENUE} AND t.kind = 'refund'`,
  needs_operator: `${ID}, iso_time(g.updated_at) AS at, g.model, g.operator_reason AS reason, iso_time(g.deadline_at) AS deadline_at
    FROM generation g WHERE g.completed_at IS NULL AND g.stage = 'needs_operator' AND $1::timestamptz IS NOT NULL
      AND g.created_at < $2::timestamptz`,
} as const;

/** What is of one time and one generation needs a third thing to stand in one order. */
const ORDER: Readonly<Record<keyof typeof QUERIES, string>> = {
  late_successes: 's.ordinal',
  orphan_jobs: 'o.provider, o.provider_job_id',
  durations: 'x.index',
  partial_deliveries: 't.id',
  refunds: 't.id DESC',
  needs_operator: 'g.id',
};

const BUDGETS = `b.provider, to_char(d.day AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, trim_scale(b.amount_per_day)::text AS amount,
      trim_scale(n.spent)::text AS spent, b.unit, iso_time(d.reached_at) AS at
    FROM provider_budget b
    CROSS JOIN LATERAL (SELECT date_trunc('day', b.reached_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS day, b.reached_at
      WHERE b.reached_at < day_start() UNION ALL
      SELECT day_start(), CASE WHEN b.reached_at >= day_start() THEN b.reached_at END) AS d
    CROSS JOIN LATERAL (SELECT coalesce(sum(s.cost_amount), 0) AS spent FROM submission s WHERE s.provider = b.provider
      AND s.cost_unit = b.unit AND s.first_sent_at >= d.day AND s.first_sent_at < d.day + interval '1 day') AS n
    WHERE d.day >= $1::timestamptz AND d.day < $2::timestamptz AND (d.reached_at IS NOT NULL OR n.spent >= b.amount_per_day)`;

const STRAYS = `iso_time(created_at) AS at, provider, provider_job_id AS job, found_by FROM stray_job
    WHERE created_at >= $1::timestamptz AND created_at < $2::timestamptz`;

async function read<T>(
  db: Db,
  sql: string,
  order: string,
  { from, before, tenantId }: ReportWindow,
): Promise<Findings<T>> {
  const rows = await db.prisma.$queryRawUnsafe<({ total: bigint } & T)[]>(
    `SELECT count(*) OVER () AS total, ${sql} ORDER BY ${order} LIMIT ${MAX_ITEMS}`,
    from.toISOString(),
    before.toISOString(),
    ...(tenantId === null ? [] : [tenantId]),
  );
  return { count: Number(rows[0]?.total ?? 0), items: rows.map(({ total: _total, ...item }) => item as T) };
}

/** All of it in a window, of one tenant or of all; budgets and stray jobs belong to no tenant and are told in any case. */
export async function readFindings(db: Db, window: ReportWindow): Promise<ToLookInto> {
  const of = <T>(kind: keyof typeof QUERIES) =>
    read<T>(
      db,
      window.tenantId === null ? QUERIES[kind] : `${QUERIES[kind]} AND g.tenant_id = $3`,
      `at DESC, generation DESC, ${ORDER[kind]}`,
      window,
    );
  return {
    late_successes: await of<Job>('late_successes'),
    orphan_jobs: await of<Job>('orphan_jobs'),
    durations: await of<Duration>('durations'),
    partial_deliveries: await of<PartialDelivery>('partial_deliveries'),
    refunds: await of<Refund>('refunds'),
    needs_operator: await of<Parked>('needs_operator'),
    budgets_reached: await read<Budget>(db, BUDGETS, 'day DESC, b.provider', { ...window, tenantId: null }),
    stray_jobs: await read<Stray>(db, STRAYS, 'at DESC, provider_job_id', { ...window, tenantId: null }),
  };
}
