import { z } from 'zod';
import { GENERATION_ERRORS } from '../domain/errors.ts';
import { CANCELLATION_OUTCOMES, STAGES, STATES, SUBMISSION_STATES } from '../domain/generation.ts';
import type { ProviderHandle } from '../domain/provider.ts';
import { planSchema } from '../domain/plan.ts';
import { jsonObjectSchema } from './json.ts';
import type { Db } from './client.ts';

const errorCode = z.enum(Object.keys(GENERATION_ERRORS) as [keyof typeof GENERATION_ERRORS]);

/** All that the provider returned to address a job. */
export const handleSchema = z.custom<ProviderHandle>(
  (value) => typeof (value as ProviderHandle | null)?.jobId === 'string',
);

const submission = z.object({
  id: z.string(),
  ordinal: z.int(),
  routeIndex: z.int(),
  provider: z.string(),
  credential: z.string(),
  /** The frozen bytes: what a handle of this job may depend on. */
  request: z.object({ path: z.string(), body: z.string() }),
  idempotencyKey: z.string(),
  state: z.enum(SUBMISSION_STATES),
  fence: z.int(),
  handle: handleSchema.nullable(),
  jobId: z.string().nullable(),
  leaseInMs: z.number().nullable(),
  sinceFirstSentMs: z.number().nullable(),
  /**
   * Of one that is sending or unknown: since the last send, or since what came of it was told. Null from the functions of
   * version 0.4, while a database is not migrated yet.
   */
  sinceSentMs: z.number().nullable().default(null),
  sinceAcceptedMs: z.number().nullable(),
  sinceObservedMs: z.number().nullable(),
  observeCount: z.int(),
  everUnknown: z.boolean(),
  callbacks: z.boolean(),
  terminalHint: z.boolean(),
  cancelSent: z.boolean(),
  refusalCode: errorCode.nullable(),
  problem: z.string().nullable(),
  endedAs: z.string().nullable(),
  providerStatus: z.string().nullable(),
});
export type LoadedSubmission = z.infer<typeof submission>;

const loaded = z.object({
  generation: z.object({
    id: z.string(),
    tenantId: z.string(),
    model: z.string(),
    state: z.enum(STATES),
    stage: z.enum(STAGES),
    input: jsonObjectSchema,
    plan: planSchema,
    credits: z.number(),
    cancelRequested: z.boolean(),
    cancelOutcome: z.enum(CANCELLATION_OUTCOMES).nullable(),
    deadlineInMs: z.number(),
    succeeded: z.boolean(),
    storeInMs: z.number().nullable(),
    operatorReason: z.string().nullable(),
    errorCode: errorCode.nullable(),
  }),
  submission: submission.nullable(),
  hints: z.array(z.object({ jobId: z.string().nullable(), terminal: z.boolean() })),
  outputs: z.array(
    z.object({
      index: z.int(),
      state: z.enum(['storing', 'stored', 'lost', 'invalid', 'deleting', 'deleted']),
      attempt: z.int(),
      goneCount: z.int(),
      leaseInMs: z.number().nullable(),
    }),
  ),
});
export type LoadedGeneration = z.infer<typeof loaded>;

/**
 * The first statement of every step: the row as it stands, the wake taken, the inbox read. Times are milliseconds
 * from now by the database's clock. Null when there is no such row (a database restored to an earlier moment).
 */
export function loadGeneration(
  db: Db,
  params: { readonly generationId: string; readonly dueInMs: number; readonly resume?: boolean },
): Promise<LoadedGeneration | null> {
  return db.call('load_generation', { ...params }, loaded.nullable());
}
