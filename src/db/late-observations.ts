import { z } from 'zod';
import type { CancelAnswer, Observation } from '../domain/provider.ts';
import type { Db } from './client.ts';
import { handleSchema } from './load-generation.ts';
import { OBSERVED_AFTER_THE_END, observationFields, recordObservation } from './record-observation.ts';

const job = z.object({
  submissionId: z.string(),
  provider: z.string(),
  credential: z.string(),
  idempotencyKey: z.string(),
  /** null = the submit's answer was lost and its job was never known. */
  handle: handleSchema.nullable(),
  /** Jobs that callbacks or an operator named while it had none, the latest first. */
  named: z.array(z.string()),
  /** The frozen request, while its job is not known. */
  request: z.object({ path: z.string(), body: z.string() }).nullable(),
  timeoutMs: z.number(),
});
/** A job of an ended generation that is due to be looked at. */
export type LateObservation = z.infer<typeof job>;

/** Jobs of ended generations that are due at these providers, leased to the caller. */
export function claimLateObservations(
  db: Db,
  params: { readonly limit: number; readonly leaseMs: number; readonly providers: readonly string[] },
): Promise<LateObservation[]> {
  return db.call('claim_late_observations', { ...params, providers: [...params.providers] }, z.array(job));
}

/** A search for a job that found nothing, or (`unavailable`) could not ask; true when it is searched for again later. */
export function postponeLateSearch(db: Db, submissionId: string, unavailable = false): Promise<boolean> {
  return db.call('postpone_late_search', { submissionId, unavailable }, z.boolean());
}

/**
 * Books what a look after the end has seen; nothing changes for the tenant.
 * @returns whether the job has succeeded: paid for, delivered to nobody
 */
export async function recordLateLook(
  db: Db,
  submissionId: string,
  observation: Observation,
): Promise<boolean> {
  await record(db, submissionId, observation, { by: 'poll', cancelSent: false });
  return observation.kind === 'succeeded';
}

/** The same for what a provider answered when it was asked to stop a job that nobody waits for. */
export async function recordLateCancel(db: Db, submissionId: string, answer: CancelAnswer): Promise<boolean> {
  // Nothing was seen: the look that its acceptance made due stands.
  if (answer.kind !== 'answered') return false;
  await record(db, submissionId, answer.observation, { by: 'submit', cancelSent: true });
  return answer.observation.kind === 'succeeded';
}

async function record(
  db: Db,
  submissionId: string,
  observation: Observation,
  how: { readonly by: 'poll' | 'submit'; readonly cancelSent: boolean },
): Promise<void> {
  const fields = { ...OBSERVED_AFTER_THE_END, ...observationFields(observation), ...how };
  await recordObservation(db, { ...fields, submissionId });
}
