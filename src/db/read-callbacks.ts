import type { Db } from './client.ts';
import { Prisma } from './generated/client.ts';

/** Which callbacks; undefined means any. */
export interface CallbackFilter {
  readonly id?: bigint | undefined;
  readonly provider?: string | undefined;
  readonly submissionId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly jobId?: string | undefined;
  /** Only those of no submission of ours. */
  readonly unmatched?: boolean | undefined;
  /** Only those that a run has not taken. */
  readonly unseen?: boolean | undefined;
  /** Only those with smaller numbers. */
  readonly beforeId?: bigint | undefined;
  readonly limit: number;
}

/** A row of the inbox without its body. */
export interface CallbackRow {
  readonly id: bigint;
  readonly provider: string;
  readonly credential: string;
  readonly submissionId: string | null;
  readonly generationId: string | null;
  readonly jobId: string | null;
  readonly type: string;
  readonly terminal: boolean;
  readonly progress: number | null;
  readonly bytes: number;
  readonly receivedAt: Date;
  readonly seenAt: Date | null;
}

/** Newest first. */
export function listCallbacks(db: Db, filter: CallbackFilter): Promise<CallbackRow[]> {
  const { id, provider, submissionId, generationId, jobId, beforeId, limit } = filter;
  const where = [
    Prisma.sql`true`,
    ...(id === undefined ? [] : [Prisma.sql`c.id = ${id}`]),
    ...(provider === undefined ? [] : [Prisma.sql`c.provider = ${provider}`]),
    ...(submissionId === undefined ? [] : [Prisma.sql`c.submission_id = ${submissionId}`]),
    ...(generationId === undefined
      ? []
      : [Prisma.sql`c.submission_id IN (SELECT id FROM submission WHERE generation_id = ${generationId})`]),
    ...(jobId === undefined ? [] : [Prisma.sql`c.provider_job_id = ${jobId}`]),
    ...(filter.unmatched === true ? [Prisma.sql`c.submission_id IS NULL`] : []),
    ...(filter.unseen === true ? [Prisma.sql`c.seen_at IS NULL`] : []),
    ...(beforeId === undefined ? [] : [Prisma.sql`c.id < ${beforeId}`]),
  ];
  return db.prisma.$queryRaw<CallbackRow[]>`
    SELECT c.id, c.provider, c.credential, c.submission_id AS "submissionId", s.generation_id AS "generationId",
      c.provider_job_id AS "jobId", c.type, c.terminal, c.progress, length(c.body) AS bytes, c.received_at AS "receivedAt",
      c.seen_at AS "seenAt"
    FROM callback c LEFT JOIN submission s ON s.id = c.submission_id
    WHERE ${Prisma.join(where, ' AND ')} ORDER BY c.id DESC LIMIT ${limit}`;
}

/** The bytes as they came (without our token), or null when there is no such callback (any more). */
export async function readCallbackBody(db: Db, id: bigint): Promise<Uint8Array | null> {
  return (await db.prisma.callback.findUnique({ where: { id }, select: { body: true } }))?.body ?? null;
}
