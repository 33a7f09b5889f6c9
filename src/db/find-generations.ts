import type { Db } from './client.ts';
import { Prisma } from './generated/client.ts';

/** Which generations an operator looks for; empty lists and undefined mean any. */
export interface GenerationSearch {
  readonly states: readonly string[];
  readonly stages: readonly string[];
  readonly tenantId?: string | undefined;
  readonly account?: string | undefined;
  /** Where it was submitted last, or will be. */
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** A job of a provider, also an orphan. */
  readonly jobId?: string | undefined;
  readonly submissionId?: string | undefined;
  readonly createdAfter?: Date | undefined;
  /** Only those whose run should have written so long ago, in milliseconds. */
  readonly overdueMs?: number | undefined;
  /** Only those after this one in the list. */
  readonly after?: Place | undefined;
  /** No id before this one was made after `createdAfter`; for a search over all tenants. */
  readonly fromId?: string | undefined;
  readonly limit: number;
  /** Rows that one call reads at most, newest first. */
  readonly scanLimit: number;
}

/** A row's place in the list. */
export interface Place {
  readonly createdAt: Date;
  readonly id: string;
}

/** One row of the operators' list; never the tenant's content. */
export interface FoundGeneration {
  readonly id: string;
  readonly tenantId: string;
  readonly account: string;
  readonly model: string;
  readonly provider: string;
  readonly state: string;
  readonly stage: string;
  readonly credits: number;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly deadlineAt: Date;
  readonly dueAt: Date | null;
  /** For how long its run should have written; 0 = it is in time, or has ended. */
  readonly overdueMs: number;
}

export interface GenerationsFound {
  readonly rows: readonly FoundGeneration[];
  /** The last row that was looked at, when the bound ended the search; null = all there are were looked at. */
  readonly stoppedAt: Place | null;
}

/**
 * Newest first: of one tenant by time and id, as its own list is (an index is in that order), else by id alone (ids sort by
 * creation). Reads at most `scanLimit` rows, whatever is looked for: a rare thing among many rows is found in several calls.
 */
export async function findGenerations(db: Db, search: GenerationSearch): Promise<GenerationsFound> {
  const filters = conditions(search);
  const { limit } = search;
  // Without filters every row that is read is a hit.
  const scanLimit = filters.length === 0 ? Math.min(limit, search.scanLimit) : search.scanLimit;
  const narrowed = Prisma.join([Prisma.sql`true`, ...narrowing(search)], ' AND ');
  const wanted = Prisma.join([Prisma.sql`true`, ...filters], ' AND ');
  const ofTenant = search.tenantId !== undefined;
  const newest = (table: Prisma.Sql) =>
    ofTenant ? Prisma.sql`${table}.created_at DESC, ${table}.id DESC` : Prisma.sql`${table}.id DESC`;
  const oldest = ofTenant ? Prisma.sql`created_at, id` : Prisma.sql`id`;
  const found = await db.prisma.$queryRaw<
    (FoundGeneration & { readonly scanned: number; readonly lastId: string; readonly lastAt: Date })[]
  >`
    WITH scanned AS MATERIALIZED (
      SELECT g.id, g.tenant_id, g.account_id, g.model, g.provider, g.state, g.stage, g.credits, g.error_code, g.operator_reason,
        g.created_at, g.deadline_at, g.due_at, g.completed_at
      FROM generation g WHERE ${narrowed} ORDER BY ${newest(Prisma.sql`g`)} LIMIT ${scanLimit}
    ), bound AS (SELECT (count(*) OVER ())::int AS scanned, id AS last_id, created_at AS last_at FROM scanned ORDER BY ${oldest} LIMIT 1),
    hits AS (
      SELECT g.*, a.name AS account FROM scanned g JOIN ledger_account a ON a.id = g.account_id
      WHERE ${wanted} ORDER BY ${newest(Prisma.sql`g`)} LIMIT ${limit}
    )
    SELECT h.id, h.tenant_id AS "tenantId", h.account, h.model, h.provider, h.state, h.stage, h.credits::float8 AS credits,
      coalesce(h.error_code, h.operator_reason) AS reason, h.created_at AS "createdAt", h.deadline_at AS "deadlineAt",
      h.due_at AS "dueAt", CASE WHEN h.completed_at IS NULL THEN
        greatest(extract(epoch FROM clock_timestamp() - h.due_at) * 1000, 0)::float8 ELSE 0 END AS "overdueMs",
      b.scanned, b.last_id AS "lastId", b.last_at AS "lastAt"
    FROM bound b LEFT JOIN hits h ON true ORDER BY ${newest(Prisma.sql`h`)}`;
  const rows = found.filter(({ id }) => id !== null);
  const [first] = found;
  const stopped = rows.length < limit && first !== undefined && first.scanned === scanLimit;
  return {
    rows: rows.map(({ scanned: _scanned, lastId: _lastId, lastAt: _lastAt, ...row }) => ({
      ...row,
      overdueMs: row.overdueMs ?? 0,
    })),
    stoppedAt: stopped ? { createdAt: first.lastAt, id: first.lastId } : null,
  };
}

/** What an index finds, so that it comes before the bound. */
function narrowing(search: GenerationSearch): Prisma.Sql[] {
  const { tenantId, stages, overdueMs, createdAfter, jobId, submissionId, after, fromId } = search;
  const open = overdueMs !== undefined || (stages.length > 0 && !stages.includes('done'));
  return [
    ...(tenantId === undefined ? [] : [Prisma.sql`g.tenant_id = ${tenantId}`]),
    ...(open ? [Prisma.sql`g.completed_at IS NULL`] : []),
    ...(overdueMs === undefined
      ? []
      : [Prisma.sql`g.due_at < now() - ${overdueMs}::float8 * interval '1 millisecond'`]),
    ...(submissionId === undefined
      ? []
      : [Prisma.sql`g.id = (SELECT s.generation_id FROM submission s WHERE s.id = ${submissionId})`]),
    ...(jobId === undefined
      ? []
      : [
          Prisma.sql`g.id IN (SELECT s.generation_id FROM submission s WHERE s.provider_job_id = ${jobId}
            UNION SELECT s.generation_id FROM orphan_job o JOIN submission s ON s.id = o.submission_id WHERE o.provider_job_id = ${jobId})`,
        ]),
    ...(after === undefined
      ? []
      : tenantId === undefined
        ? [Prisma.sql`g.id < ${after.id}`]
        : [Prisma.sql`(g.created_at, g.id) < (${after.createdAt}, ${after.id})`]),
    ...(fromId === undefined || tenantId !== undefined ? [] : [Prisma.sql`g.id >= ${fromId}`]),
    ...(createdAfter === undefined || tenantId === undefined
      ? []
      : [Prisma.sql`g.created_at > ${createdAfter}`]),
  ];
}

function conditions({
  states,
  stages,
  account,
  provider,
  model,
  createdAfter,
}: GenerationSearch): Prisma.Sql[] {
  return [
    ...(states.length === 0 ? [] : [Prisma.sql`g.state = ANY (${[...states]})`]),
    ...(stages.length === 0 ? [] : [Prisma.sql`g.stage = ANY (${[...stages]})`]),
    ...(account === undefined ? [] : [Prisma.sql`a.name = ${account}`]),
    ...(provider === undefined ? [] : [Prisma.sql`g.provider = ${provider}`]),
    ...(model === undefined ? [] : [Prisma.sql`g.model = ${model}`]),
    ...(createdAfter === undefined ? [] : [Prisma.sql`g.created_at > ${createdAfter}`]),
  ];
}
