import { z } from 'zod';
import { planSchema } from '../domain/plan.ts';
import { SUBMISSION_STATES } from '../domain/generation.ts';
import type { GenerationErrorCode } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { SubmitRequest } from '../domain/provider.ts';
import type { Db } from './client.ts';
import { jsonObjectSchema } from './json.ts';

/** A submission as its run would have made it. */
export interface RecoveredSubmission {
  readonly ordinal: number;
  readonly routeIndex: number;
  readonly submissionId: string;
  readonly provider: string;
  readonly credential: string;
  readonly idempotencyKey: string;
  readonly request: SubmitRequest;
  readonly callbackBase: string | null;
  readonly callbackKeyId: string | null;
  readonly estimatedCost: { readonly amount: string; readonly unit: string } | null;
}

const recovered = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('unknown'),
    submissionId: z.string(),
    was: z.enum(['none', 'prepared', 'sending', 'moved']),
  }),
  z.object({
    outcome: z.literal('stands'),
    submissionId: z.string(),
    state: z.enum(['unknown', 'accepted']),
  }),
  z.object({ outcome: z.enum(['recovered_before', 'terminal', 'not_found', 'nothing_open']) }),
]);
export type Recovered = z.infer<typeof recovered>;

/** After a restore: a generation that may have been submitted since gets an unknown submission, once per restore point. */
export function recoverGeneration(
  db: Db,
  params: {
    readonly generationId: string;
    readonly restoredAt: Date;
    readonly actor: string;
    readonly reason: string;
    /** null = the one that is open. */
    readonly submission: RecoveredSubmission | null;
  },
): Promise<Recovered> {
  const { submission, restoredAt } = params;
  return db.call(
    'recover_generation',
    {
      ...params,
      restoredAt: restoredAt.toISOString(),
      submission: submission && {
        ...submission,
        request: { ...submission.request },
        estimatedCost: submission.estimatedCost && { ...submission.estimatedCost },
      },
    },
    recovered,
  );
}

/** A job that no row names goes on record, once; false when it was there already or a row names it. */
export function recordStrayJob(
  db: Db,
  job: {
    readonly provider: string;
    readonly credential: string;
    readonly jobId: string;
    readonly submissionId: string | null;
    readonly foundBy: 'history';
  },
): Promise<boolean> {
  return db.call('record_stray_job', { ...job }, z.boolean());
}

/** A generation that has not ended, with its last submission. */
export interface OpenGeneration {
  readonly id: string;
  readonly createdAt: Date;
  readonly deadlineAt: Date;
  readonly succeeded: boolean;
  readonly input: JsonObject;
  /** null = it can't be read. */
  readonly plan: z.infer<typeof planSchema> | null;
  readonly submission: {
    readonly id: string;
    readonly ordinal: number;
    readonly routeIndex: number;
    readonly provider: string;
    readonly credential: string;
    readonly state: (typeof SUBMISSION_STATES)[number];
    readonly refusalCode: GenerationErrorCode | null;
    /** A dead one that was unknown is submitted again at the same place of the route list. */
    readonly everUnknown: boolean;
    readonly request: Pick<SubmitRequest, 'path' | 'body'>;
  } | null;
}

const requestSchema = z.object({ path: z.string(), body: z.string() });

/** Those that have not ended, by id, after the given one. */
export async function listOpenGenerations(db: Db, after: string, limit: number): Promise<OpenGeneration[]> {
  const rows = await db.prisma.generation.findMany({
    where: { completedAt: null, id: { gt: after } },
    orderBy: { id: 'asc' },
    take: limit,
    include: { submissions: { orderBy: { ordinal: 'desc' }, take: 1 } },
  });
  return rows.map((row) => {
    const [last] = row.submissions;
    return {
      id: row.id,
      createdAt: row.createdAt,
      deadlineAt: row.deadlineAt,
      succeeded: row.successAt !== null,
      input: jsonObjectSchema.parse(row.input),
      plan: planSchema.safeParse(row.plan).data ?? null,
      submission:
        last === undefined
          ? null
          : {
              id: last.id,
              ordinal: last.ordinal,
              routeIndex: last.routeIndex,
              provider: last.provider,
              credential: last.credential,
              state: z.enum(SUBMISSION_STATES).parse(last.state),
              refusalCode: last.refusalCode as GenerationErrorCode | null,
              everUnknown: last.unknownAt !== null,
              request: requestSchema.parse(last.request),
            },
    };
  });
}

/** Which of these have a row. */
export async function findExisting(db: Db, generationIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.prisma.generation.findMany({
    where: { id: { in: [...generationIds] } },
    select: { id: true },
  });
  return new Set(rows.map(({ id }) => id));
}

/** A submission by its id, with what its job's handle is made from; null when there is none. */
export async function findSubmitted(db: Db, submissionId: string) {
  const row = await db.prisma.submission.findUnique({ where: { id: submissionId } });
  return row === null
    ? null
    : {
        id: row.id,
        provider: row.provider,
        request: requestSchema.parse(row.request),
        jobId: row.providerJobId,
      };
}

/**
 * How many API and worker processes are connected (each listens for changes), and whether a sweep was at work in the last
 * 30 s. Behind a pooler in transaction mode no listener is seen.
 */
export async function seeProcesses(
  db: Db,
): Promise<{ readonly listeners: number; readonly sweeping: boolean }> {
  const [row] = await db.prisma.$queryRaw<{ listeners: number; sweeping: boolean }[]>`
    SELECT count(*)::int AS listeners,
      EXISTS (SELECT 1 FROM sweep_mark WHERE updated_at > clock_timestamp() - interval '30 seconds') AS sweeping
    FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'darkroom-listen'`;
  return row ?? { listeners: 0, sweeping: false };
}

/** The newest generation of the database; ids are in the order of creation. */
export function newestGeneration(db: Db): Promise<{ readonly id: string; readonly createdAt: Date } | null> {
  return db.prisma.generation.findFirst({
    orderBy: { id: 'desc' },
    select: { id: true, createdAt: true },
  });
}
