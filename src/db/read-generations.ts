import type { Prisma } from './generated/client.ts';
import type { Db } from './client.ts';

const PARTS = {
  account: { select: { name: true } },
  tenant: { select: { linkVersion: true } },
  hold: { select: { amount: true, state: true, captured: true, refunded: true } },
  outputs: { where: { state: { in: ['stored', 'deleting', 'deleted'] } }, orderBy: { index: 'asc' } },
} satisfies Prisma.GenerationInclude;

/** A generation as it is read for an answer: its row, hold, account name and outputs that were stored. */
export type GenerationRow = Prisma.GenerationGetPayload<{ include: typeof PARTS }>;

/** One generation of this tenant, or null; another tenant's id is null like an unknown one. */
export function findGeneration(db: Db, tenantId: string, id: string): Promise<GenerationRow | null> {
  return db.prisma.generation.findFirst({ where: { id, tenantId }, include: PARTS });
}

export interface GenerationFilter {
  readonly tenantId: string;
  readonly account?: string | undefined;
  readonly state?: string | undefined;
  readonly model?: string | undefined;
  readonly createdAfter?: Date | undefined;
  /** Up to `limit` rows after this one, newest first. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
}

/** Newest first, by (created_at, id): stable under inserts and equal times. */
export function listGenerations(db: Db, filter: GenerationFilter): Promise<GenerationRow[]> {
  const { after } = filter;
  return db.prisma.generation.findMany({
    where: {
      tenantId: filter.tenantId,
      ...(filter.account === undefined ? {} : { account: { name: filter.account } }),
      ...(filter.state === undefined ? {} : { state: filter.state }),
      ...(filter.model === undefined ? {} : { model: filter.model }),
      AND: [
        filter.createdAfter === undefined ? {} : { createdAt: { gt: filter.createdAfter } },
        after === undefined
          ? {}
          : {
              OR: [
                { createdAt: { lt: after.createdAt } },
                { createdAt: after.createdAt, id: { lt: after.id } },
              ],
            },
      ],
    },
    include: PARTS,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: filter.limit,
  });
}
