import { z } from 'zod';
import type { FailedCode } from '../domain/errors.ts';
import { SUBMISSION_STATES } from '../domain/generation.ts';
import type { ProviderHandle, SubmitRequest } from '../domain/provider.ts';
import type { Db } from './client.ts';

export interface SubmissionClaim {
  readonly generationId: string;
  readonly ordinal: number;
  readonly routeIndex: number;
  readonly submissionId: string;
  readonly provider: string;
  readonly credential: string;
  readonly idempotencyKey: string;
  readonly request: SubmitRequest;
  readonly callbackBase: string | null;
  readonly callbackKeyId: string | null;
  readonly leaseMs: number;
  readonly minimumRunwayMs: number;
  /** The provider gives the same job for the same key and bytes, within the window. */
  readonly replay: boolean;
  readonly replayWindowMs: number;
}

const request = z.object({
  method: z.literal('POST'),
  path: z.string(),
  contentType: z.string(),
  body: z.string(),
});
const claimed = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('send'),
    fence: z.int(),
    request,
    idempotencyKey: z.string(),
    callbackBase: z.string().nullable(),
    callbackKeyId: z.string().nullable(),
  }),
  z.object({ outcome: z.literal('leased'), inMs: z.number() }),
  z.object({ outcome: z.enum(['unknown', 'accepted', 'terminal', 'cancel_requested', 'no_time', 'stale']) }),
]);
export type ClaimedSubmission = z.infer<typeof claimed>;

/** The right to send once, with its fencing token and the frozen bytes; whoever holds a live lease keeps it. */
export function claimSubmission(db: Db, claim: SubmissionClaim): Promise<ClaimedSubmission> {
  return db.call('claim_submission', { ...claim, request: { ...claim.request } }, claimed);
}

export type SubmissionRecord =
  | {
      readonly submissionId: string;
      readonly kind: 'accepted';
      readonly jobId: string;
      readonly handle: ProviderHandle;
      readonly providerStatus: string | null;
      readonly dueInMs: number;
    }
  | {
      readonly submissionId: string;
      readonly fence: number;
      readonly kind: 'refused';
      readonly problem: string;
      readonly refusalCode: FailedCode;
      readonly retryInMs: number;
    }
  | {
      readonly submissionId: string;
      readonly fence: number;
      readonly kind: 'capacity' | 'not_sent' | 'unknown';
      readonly problem: string;
      readonly retryInMs: number;
    };

const recorded = z.object({
  outcome: z.enum(['attached', 'attached_late', 'orphan', 'recorded', 'stale', 'job_taken']),
  terminal: z.boolean(),
  cancelRequested: z.boolean(),
  state: z.enum(SUBMISSION_STATES),
  /** A callback has said that the job ended: look at once. */
  terminalHint: z.boolean(),
});
export type RecordedSubmission = z.infer<typeof recorded>;

/** What the answer proved. An acceptance attaches in any state; all else only with the live fence. */
export function recordSubmission(db: Db, record: SubmissionRecord): Promise<RecordedSubmission> {
  return db.call('record_submission', { ...record }, recorded);
}
