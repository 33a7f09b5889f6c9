import { z } from 'zod';

/** All times of a generation, in milliseconds; frozen on the generation, so that tests and operators can shorten them. */
const timings = {
  submitHttpTimeoutMs: z.int().positive().default(30_000),
  submitLeaseMs: z.int().positive().default(40_000),
  submitStartToCloseMs: z.int().positive().default(50_000),
  /** How long a submit may wait for a worker of its provider before the rows are looked at again. */
  submitQueueMs: z.int().positive().default(300_000),
  observeHttpTimeoutMs: z.int().positive().default(15_000),
  /** How long an answer "no such job" still means "running" after the submit. */
  notFoundGraceMs: z.int().nonnegative().default(60_000),
  /** After the deadline and the cancel: how long the job is still observed before `expired`. */
  deadlineGraceMs: z.int().nonnegative().default(30_000),
  /** Callbacks expected: first poll at max(this, expected duration), then every `safetyPollMs`. */
  firstPollMs: z.int().positive().default(60_000),
  safetyPollMs: z.int().positive().default(180_000),
  /** Polls a second that one provider is asked for at most, all its jobs together. */
  pollBudgetPerSecond: z.int().positive().default(20),
  /** No callbacks: first poll, ×1.5 up to `pollMaxMs`, with jitter. */
  pollInitialMs: z.int().positive().default(2_000),
  pollMaxMs: z.int().positive().default(30_000),
  /** At most one observation of a job within this time, whatever asks for it. */
  observeSpacingMs: z.int().nonnegative().default(2_000),
  /** Failed submits in a row that shut a provider, and for how long at first (doubled each time, up to 5 minutes). */
  circuitFailures: z.int().positive().default(5),
  circuitOpenMs: z.int().positive().default(15_000),
  capacityRetryMs: z.int().positive().default(5_000),
  /** How long a `replay` provider keeps a key. */
  replayWindowMs: z.int().positive().default(86_400_000),
  /** How long after the observed success storing is tried, if the provider's link lives longer. */
  storeForMs: z.int().positive().default(86_400_000),
  /** When a job not known to have ended is looked at again, from the end of its generation. */
  lateObservationsMs: z.array(z.int().positive()).max(10).default([3_600_000, 21_600_000, 86_400_000]),
  storeRetryMs: z.int().positive().default(5_000),
  storeLeaseMs: z.int().positive().default(15_000),
};
export const timingsSchema = z.strictObject(timings).prefault({});
/** As it was stored with a generation: what a newer version has added is passed over, so that a rollback can read it. */
export const storedTimingsSchema = z.object(timings);
export type Timings = z.infer<typeof timingsSchema>;
