import type { Db } from '../db/index.ts';
import type { Prisma } from '../db/generated/client.ts';

const NAMED = 10;
const PARTS = {
  orphans: true,
  lateSuccess: true,
  callbacks: {
    where: { type: 'operator.attached' },
    orderBy: { id: 'desc' },
    take: NAMED,
    select: { providerJobId: true, receivedAt: true, seenAt: true },
  },
} satisfies Prisma.SubmissionInclude;
type Row = Prisma.SubmissionGetPayload<{ include: typeof PARTS }>;

/** A submission as operators see it; times are ISO 8601. */
export type ShownSubmission = ReturnType<typeof viewOf>;

/** The newest submissions in these states (all when none is named), newest first. */
export async function findSubmissions(
  { db }: { readonly db: Db },
  filter: { readonly states: readonly string[]; readonly provider: string | null; readonly limit: number },
): Promise<ShownSubmission[]> {
  const { states, provider, limit } = filter;
  const rows = await db.prisma.submission.findMany({
    where: {
      ...(states.length === 0 ? {} : { state: { in: [...states] } }),
      ...(provider === null ? {} : { provider }),
    },
    // Ids begin with the time of their generation, and have an index.
    orderBy: { id: 'desc' },
    take: limit,
    include: PARTS,
  });
  return rows.map(viewOf);
}

/** One submission; null = there is none of this id. */
export async function findSubmission(
  { db }: { readonly db: Db },
  id: string,
): Promise<ShownSubmission | null> {
  const row = await db.prisma.submission.findUnique({ where: { id }, include: PARTS });
  return row === null ? null : viewOf(row);
}

function viewOf(row: Row) {
  const iso = (at: Date | null | undefined): string | null => at?.toISOString() ?? null;
  return {
    id: row.id,
    generation: row.generationId,
    provider: row.provider,
    credential: row.credential,
    state: row.state,
    idempotency_key: row.idempotencyKey,
    first_sent_at: iso(row.firstSentAt),
    unknown_at: iso(row.unknownAt),
    lease_until: iso(row.leaseUntil),
    job_id: row.providerJobId,
    /** By an operator; each is asked for at the provider, and attached only when it is known there. */
    named_jobs: row.callbacks.map(({ providerJobId, receivedAt, seenAt }) => ({
      job_id: providerJobId,
      named_at: iso(receivedAt),
      looked_for_at: iso(seenAt),
      attached: providerJobId === row.providerJobId,
    })),
    provider_status: row.providerStatus,
    problem: row.problem ?? row.refusalCode,
    observed_at: iso(row.observedAt),
    ended_as: row.endedAs,
    late_look_at: iso(row.lateDueAt),
    late_success_at: iso(row.lateSuccess?.observedAt),
    cost: row.costAmount === null ? null : `${row.costAmount.toFixed()} ${row.costUnit}`,
    orphan_jobs: row.orphans.map(({ providerJobId }) => providerJobId),
  };
}
