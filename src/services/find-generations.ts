import { findGenerations as readGenerations, type FoundGeneration } from '../db/find-generations.ts';
import type { Stage, State } from '../domain/generation.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import { firstGenerationId } from '../domain/ids.ts';
import type { ListedGeneration } from '../domain/operated-generation.ts';
import { OVERDUE_AFTER_MS } from '../domain/operator-advice.ts';
import type { ServiceContext } from './context.ts';

/** Rows that one call looks at. */
const SCAN_LIMIT = 20_000;
/** Ids have the clock of the API that made them, `created_at` that of the database. */
const CLOCKS_APART_MS = 3_600_000;

export interface FindGenerationsInput {
  readonly states?: readonly State[];
  readonly stages?: readonly Stage[];
  readonly tenantId?: string | undefined;
  readonly account?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly jobId?: string | undefined;
  readonly submissionId?: string | undefined;
  readonly createdAfter?: Date | undefined;
  /** Only those whose run should have written more than a minute ago. */
  readonly overdue?: boolean | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface FoundPage {
  readonly data: readonly ListedGeneration[];
  /** Also true when the bound of one call ended the search: the page may then be short, or empty. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Generations of all tenants, newest first; null = there is no such tenant. */
export async function findGenerations(
  ctx: Pick<ServiceContext, 'db' | 'runUrl'>,
  input: FindGenerationsInput,
): Promise<FoundPage | null> {
  const { states = [], stages = [], after, createdAfter, overdue = false, limit, ...rest } = input;
  if (rest.tenantId !== undefined && !(await isTenant(ctx, rest.tenantId))) return null;
  const { rows, stoppedAt } = await readGenerations(ctx.db, {
    ...rest,
    states,
    stages,
    createdAfter,
    fromId:
      createdAfter === undefined ? undefined : firstGenerationId(createdAfter.getTime() - CLOCKS_APART_MS),
    overdueMs: overdue ? OVERDUE_AFTER_MS : undefined,
    after,
    limit: limit + 1,
    scanLimit: SCAN_LIMIT,
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next =
    rows.length > limit && last !== undefined
      ? encodeCursor(last)
      : // The time of a row that was only passed by is nobody's business here; the id alone is its place.
        stoppedAt === null
        ? null
        : // Of one tenant the place is a time, too; then it is the asker's business.
          encodeCursor(rest.tenantId === undefined ? { ...stoppedAt, createdAt: new Date(0) } : stoppedAt);
  return { data: page.map((row) => view(row, ctx.runUrl)), has_more: next !== null, next_cursor: next };
}

async function isTenant(ctx: Pick<ServiceContext, 'db'>, id: string): Promise<boolean> {
  return (await ctx.db.prisma.tenant.count({ where: { id } })) > 0;
}

/** Names every field by hand; the casts hold because CHECK constraints allow these words only. */
function view(row: FoundGeneration, runUrl: ServiceContext['runUrl']): ListedGeneration {
  return {
    object: 'listed_generation',
    id: row.id,
    created_at: row.createdAt.toISOString(),
    tenant: row.tenantId,
    account: row.account,
    model: row.model,
    provider: row.provider,
    state: row.state as State,
    stage: row.stage as Stage,
    credits: row.credits,
    reason: row.reason,
    deadline_at: row.deadlineAt.toISOString(),
    due_at: row.dueAt?.toISOString() ?? null,
    overdue_seconds: Math.floor(row.overdueMs / 1_000),
    temporal_url: runUrl(row.id),
  };
}
