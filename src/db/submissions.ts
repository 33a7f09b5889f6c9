import { z } from 'zod';
import type { FailedCode } from '../domain/errors.ts';
import { SUBMISSION_STATES } from '../domain/generation.ts';
import type { ProviderCost, ProviderHandle, SubmitRequest } from '../domain/provider.ts';
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
  /** An unknown one is sent again only while this is its fence: what was asked before a later send proves nothing. */
  readonly afterFence?: number;
  /** What the provider is expected to bill: booked as an estimate, and weighed against its budget of the day. */
  readonly estimatedCost: { readonly amount: string; readonly unit: string } | null;
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
  z.object({
    outcome: z.literal('provider_closed'),
    reason: z.enum(['circuit_open', 'daily_budget', 'provider_paused']),
    inMs: z.number(),
    /** The first refusal of the day, to be told once. */
    alert: z.boolean(),
  }),
  z.object({
    outcome: z.literal('paused'),
    reason: z.enum(['tenant_paused', 'model_paused']),
    inMs: z.number(),
  }),
  z.object({ outcome: z.enum(['unknown', 'accepted', 'terminal', 'cancel_requested', 'no_time', 'stale']) }),
]);
export type ClaimedSubmission = z.infer<typeof claimed>;

/** The right to send once, with its fencing token and the frozen bytes; whoever holds a live lease keeps it. */
export function claimSubmission(db: Db, claim: SubmissionClaim): Promise<ClaimedSubmission> {
  const { request, estimatedCost } = claim;
  return db.call(
    'claim_submission',
    {
      ...claim,
      request: { ...request },
      estimatedCost: estimatedCost === null ? null : { ...estimatedCost, final: false },
    },
    claimed,
  );
}

export type SubmissionRecord =
  | {
      readonly submissionId: string;
      readonly kind: 'accepted';
      readonly jobId: string;
      readonly handle: ProviderHandle;
      readonly providerStatus: string | null;
      readonly cost?: ProviderCost | null;
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
  /** With this answer the provider's circuit has opened. */
  circuitOpened: z.boolean(),
});
export type RecordedSubmission = z.infer<typeof recorded>;

/** When failures in a row open a provider's circuit, and for how long at first. */
export interface CircuitLimits {
  readonly circuitFailures: number;
  readonly circuitOpenMs: number;
}

/**
 * What the answer proved. An acceptance attaches in any state; all else only with the live fence. With limits, the
 * answer also counts for the provider's circuit.
 */
export function recordSubmission(
  db: Db,
  record: SubmissionRecord,
  circuit?: CircuitLimits,
): Promise<RecordedSubmission> {
  const cost = record.kind === 'accepted' && record.cost ? { ...record.cost } : null;
  return db.call('record_submission', { ...record, cost, ...circuit }, recorded);
}

/** That a job which a callback or an operator named was asked for in vain: kept with the submission while it has none. */
export async function noteNamedJob(
  db: Db,
  note: {
    readonly submissionId: string;
    readonly problem: 'named_job_not_found' | 'named_job_unavailable';
  },
): Promise<void> {
  await db.call('note_named_job', { ...note }, z.boolean());
}

const openRoute = z.object({ index: z.int().nullable(), inMs: z.number().nullable() });

/**
 * The first of these places that takes new submits now, or when the first of them opens (`inMs`; null when there is
 * none). A look only: the claim decides.
 */
export function findOpenRoute(
  db: Db,
  routes: readonly {
    readonly provider: string;
    readonly estimatedCost: { readonly amount: string; readonly unit: string } | null;
  }[],
): Promise<z.infer<typeof openRoute>> {
  const places = routes.map(({ provider, estimatedCost }) => ({
    provider,
    estimatedCost: estimatedCost && { ...estimatedCost },
  }));
  return db.call('find_open_route', { places }, openRoute);
}
