import type { Db } from '../db/index.ts';
import type { Stage, State } from '../domain/generation.ts';

/** One line of the operators' list: never the tenant's content. */
export interface ListedGeneration {
  readonly id: string;
  readonly created_at: string;
  readonly tenant: string;
  readonly account: string;
  readonly model: string;
  readonly provider: string;
  readonly state: string;
  readonly stage: string;
  /** The price, held or settled. */
  readonly credits: number;
  /** Why it ended without outputs, or why it needs an operator. */
  readonly reason: string | null;
  readonly deadline_at: string;
}

/** The newest generations of all tenants or of one (null when there is no such tenant); empty lists mean any. */
export async function reportGenerations(
  ctx: { readonly db: Db },
  filter: {
    readonly states: readonly State[];
    readonly stages: readonly Stage[];
    readonly tenantId: string | null;
    readonly limit: number;
  },
): Promise<ListedGeneration[] | null> {
  const { states, stages, tenantId, limit } = filter;
  const { prisma } = ctx.db;
  if (tenantId !== null && (await prisma.tenant.count({ where: { id: tenantId } })) === 0) return null;
  // What has not ended is found by its own small index.
  const open = stages.length > 0 && !stages.includes('done');
  const found = await prisma.generation.findMany({
    where: {
      ...(tenantId === null ? {} : { tenantId }),
      ...(states.length === 0 ? {} : { state: { in: [...states] } }),
      ...(stages.length === 0 ? {} : { stage: { in: [...stages] } }),
      ...(open ? { completedAt: null } : {}),
    },
    include: { account: { select: { name: true } } },
    // Ids sort by creation, so that the key of the table serves where no tenant is named.
    orderBy: tenantId === null ? { id: 'desc' } : [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
  return found.map((row) => ({
    id: row.id,
    created_at: row.createdAt.toISOString(),
    tenant: row.tenantId,
    account: row.account.name,
    model: row.model,
    provider: row.provider,
    state: row.state,
    stage: row.stage,
    credits: Number(row.credits),
    reason: row.errorCode ?? row.operatorReason,
    deadline_at: row.deadlineAt.toISOString(),
  }));
}
