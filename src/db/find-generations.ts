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
  /** Only those with smaller ids. */
  readonly beforeId?: string | undefined;
  /** No id before this one was made after `createdAfter`. */
  readonly fromId?: string | undefined;
  readonly limit: number;
  /** Rows that one call reads at most, newest first. */
  readonly scanLimit: number;
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
  readonly stoppedAt: string | null;
}

/**
 * Newest first by id (ids sort by creation). Reads at most `scanLimit` rows, whatever is looked for: a rare thing among
 * many rows is found in several calls.
 */
export async function findGenerations(db: Db, search: GenerationSearch): Promise<GenerationsFound> {
  const { limit, scanLimit } = search;
  const narrowed = Prisma.join([Prisma.sql`true`, ...narrowing(search)], ' AND ');
  const wanted = Prisma.join([Prisma.sql`true`, ...conditions(search)], ' AND ');
  const found = await db.prisma.$queryRaw<
    (FoundGeneration & { readonly scanned: number; readonly last: string | null })[]
  >`
    WITH scanned AS MATERIALIZED (
      SELECT g.id, g.tenant_id, g.account_id, g.model, g.provider, g.state, g.stage, g.credits, g.error_code, g.operator_reason,
        g.created_at, g.deadline_at, g.due_at, g.completed_at
      FROM generation g WHERE ${narrowed} ORDER BY g.id DESC LIMIT ${scanLimit}
    ), bound AS (SELECT count(*)::int AS scanned, min(id) AS last FROM scanned),
    hits AS (
      SELECT g.*, a.name AS account FROM scanned g JOIN ledger_account a ON a.id = g.account_id
      WHERE ${wanted} ORDER BY g.id DESC LIMIT ${limit}
    )
    SELECT h.id, h.tenant_id AS "tenantId", h.account, h.model, h.provider, h.state, h.stage, h.credits::float8 AS credits,
      coalesce(h.error_code, h.operator_reason) AS reason, h.created_at AS "createdAt", h.deadline_at AS "deadlineAt",
      h.due_at AS "dueAt", CASE WHEN h.completed_at IS NULL THEN
        greatest(extract(epoch FROM clock_timestamp() - h.due_at) * 1000, 0)::float8 ELSE 0 END AS "overdueMs",
      b.scanned, b.last
    FROM bound b LEFT JOIN hits h ON true ORDER BY h.id DESC`;
  const rows = found.filter(({ id }) => id !== null);
  const [first] = found;
  const stopped = rows.length < limit && first !== undefined && first.scanned === scanLimit;
  return {
    rows: rows.map(({ scanned: _scanned, last: _last, ...row }) => ({
      ...row,
      overdueMs: row.overdueMs ?? 0,
    })),
    stoppedAt: stopped ? first.last : null,
  };
}

/** What an index finds, so that it comes before the bound. */
function narrowing(search: GenerationSearch): Prisma.Sql[] {
  const { tenantId, stages, overdueMs, jobId, submissionId, beforeId, fromId } = search;
  const open = overdueMs !== undefined || (stages.length > 0 && !stages.includes('done'));
  return [
    ...(tenantId === undefined ? [] : [Prisma.sql`g.tenant_id = ${tenantId}`]),
    ...(open ? [Prisma.sql`g.completed_at IS NULL`] : []),
    ...(overdueMs === undefined
      ? []
      : [Prisma.sql`g.due_at < clock_timestamp() - ${overdueMs}::float8 * interval '1 millisecond'`]),
    ...(submissionId === undefined
      ? []
      : [Prisma.sql`g.id = (SELECT s.generation_id FROM submission s WHERE s.id = ${submissionId})`]),
    ...(jobId === undefined
      ? []
      : [
          Prisma.sql`g.id IN (SELECT s.generation_id FROM submission s WHERE s.provider_job_id = ${jobId}
            UNION SELECT s.generation_id FROM orphan_job o JOIN submission s ON s.id = o.submission_id WHERE o.provider_job_id = ${jobId})`,
        ]),
    ...(beforeId === undefined ? [] : [Prisma.sql`g.id < ${beforeId}`]),
    ...(fromId === undefined ? [] : [Prisma.sql`g.id >= ${fromId}`]),
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
