import { z } from 'zod';
import type { CancellationOutcome } from '../domain/generation.ts';
import type { Observation, ProviderCost } from '../domain/provider.ts';
import type { Db } from './client.ts';

export interface ObservationRecord {
  readonly submissionId: string;
  readonly by: 'callback' | 'poll' | 'submit';
  readonly kind: 'running' | 'succeeded' | 'failed' | 'cancelled' | 'not_found' | 'unavailable';
  readonly status: string | null;
  readonly progress: number | null;
  readonly problem: string | null;
  readonly outputCount: number | null;
  /** How long storing is tried; the link's own life shortens it. */
  readonly storeForMs: number;
  readonly linkInMs: number | null;
  readonly storeLeaseMs: number;
  readonly dueInMs: number;
  readonly cost: ProviderCost | null;
  /** The provider took our cancel call. */
  readonly cancelSent: boolean;
  readonly cancelOutcome: CancellationOutcome | null;
  /** The job is known to have ended although its state does not say so (gone after our accepted cancel). */
  readonly ended: boolean;
}

const attempts = z.array(z.object({ index: z.int(), attempt: z.int() }));
export type OutputAttempts = z.infer<typeof attempts>;

const result = z.object({
  terminal: z.boolean(),
  succeeded: z.boolean(),
  attempts,
  cancelRequested: z.boolean(),
});
export type RecordedObservation = z.infer<typeof result>;

/** The job's present state; the first success also creates and leases the rows of its outputs. */
export function recordObservation(db: Db, record: ObservationRecord): Promise<RecordedObservation> {
  return db.call(
    'record_observation',
    { ...record, cost: record.cost === null ? null : { ...record.cost } },
    result,
  );
}

/** Outputs still to be stored that no other attempt holds, leased to the caller. */
export function claimOutputs(
  db: Db,
  params: { readonly generationId: string; readonly storeLeaseMs: number },
): Promise<OutputAttempts> {
  return db.call('claim_outputs', { ...params }, attempts);
}

/** What an observation says, in the shape of its record. Link expiry becomes a time from now. */
export function observationFields(observation: Observation) {
  return {
    kind: observation.kind,
    status: 'status' in observation ? observation.status : null,
    progress: observation.kind === 'running' ? observation.progress : null,
    problem: observation.kind === 'unavailable' ? observation.reason : null,
    outputCount: observation.kind === 'succeeded' ? observation.outputs.length : null,
    linkInMs:
      observation.kind === 'succeeded' && observation.linkExpiresAt !== null
        ? observation.linkExpiresAt.getTime() - Date.now()
        : null,
    cost: 'cost' in observation ? (observation.cost ?? null) : null,
  };
}

/** Fields that matter only to a run that stores or cancels: nothing of them is asked for after the end. */
export const OBSERVED_AFTER_THE_END = {
  storeForMs: 0,
  storeLeaseMs: 0,
  dueInMs: 0,
  cancelOutcome: null,
  ended: false,
} as const;
