import { z } from 'zod';
import { STAGES, STATES } from '../domain/generation.ts';
import type { JsonObject } from '../domain/json.ts';
import { ACTION_EFFECTS, ACTION_REFUSALS } from '../domain/operator-actions.ts';
import type { Db } from './client.ts';
import { runFactsSchema } from './run-facts.ts';

const stands = { state: z.enum(STATES), stage: z.enum(STAGES) };
const acted = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('done'),
    effect: z.enum(ACTION_EFFECTS),
    ...stands,
    /** Its run must look at its rows. */
    wake: z.boolean(),
    run: runFactsSchema,
    /** The submission that it is about. */
    submission: z.string().nullish(),
    jobId: z.string().nullish(),
    /** Jobs, outputs or deliveries that it is about. */
    count: z.int().nullish(),
    /** Deliveries left out: their endpoint is disabled or deleted. */
    skipped: z.int().nullish(),
    /** How long outputs are tried now, ISO 8601. */
    until: z.string().nullish(),
  }),
  z.object({
    outcome: z.literal('refused'),
    why: z.enum(ACTION_REFUSALS),
    ...stands,
    inMs: z.number().optional(),
    jobId: z.string().optional(),
    generationId: z.string().optional(),
  }),
  z.object({ outcome: z.literal('not_found') }),
]);
/** What became of an operator's action: done with what stands, refused with why. */
export type Acted = z.infer<typeof acted>;

/** Which generation, who acts and why: kept for ever with the change, in one transaction. */
export interface ByOperator {
  readonly generationId: string;
  readonly actor: string;
  readonly reason: string;
}

const act = (db: Db, name: string, by: ByOperator, more: JsonObject = {}): Promise<Acted> =>
  db.call(name, { ...by, ...more }, acted);

/** Its run looks at its rows now; the sweep does it where Temporal is away. */
export const wakeByOperator = (db: Db, by: ByOperator) => act(db, 'operator_wake', by);

/** The wish to cancel: settled at once while no provider can have the job. */
export const cancelByOperator = (db: Db, by: ByOperator) => act(db, 'operator_cancel', by);

/** The job is looked at now, whatever its next poll; also after the end, while it isn't known to have ended. */
export const observeByOperator = (db: Db, by: ByOperator) => act(db, 'operator_observe', by);

/** Outputs given up are tried again, all open ones for at least so many hours from now. */
export const retryStoringByOperator = (db: Db, by: ByOperator & { readonly hours: number }) =>
  act(db, 'operator_retry_storing', by, { hours: by.hours });

/** A submission of this generation; null = the last one that was sent. */
interface OfSubmission {
  readonly submission: string | null;
}

/** Names the job of a submission whose answer was lost; attached once the provider knows it. */
export const attachJobByOperator = (
  db: Db,
  by: ByOperator & OfSubmission & { readonly jobId: string },
): Promise<Acted> => act(db, 'operator_attach_job', by, { submission: by.submission, jobId: by.jobId });

/** An unknown submission has no job: it ends its generation, or with `resubmit` a new submission is sent. */
export const declareNotAccepted = (
  db: Db,
  by: ByOperator & OfSubmission & { readonly resubmit: boolean },
): Promise<Acted> =>
  act(db, 'operator_not_accepted', by, { submission: by.submission, resubmit: by.resubmit });

/** All webhooks of a generation once more, each with its schedule from the start. */
export const redeliverByOperator = (db: Db, by: ByOperator) => act(db, 'operator_redeliver', by);
