export { assertDatabaseUsable, openDb } from './client.ts';
export type { Db } from './client.ts';
export { createGeneration } from './create-generation.ts';
export type { NewGeneration } from './create-generation.ts';
export { checkInvariants, listStoredOutputs, readInvariants } from './doctor.ts';
export type { InvariantResult } from './doctor.ts';
export { isDatabaseUnavailable } from './errors.ts';
export { liveCallbackKeyIds } from './key-ids.ts';
export { grantCredits, readCredits } from './ledger.ts';
export type { Credits, Granted } from './ledger.ts';
export { loadGeneration } from './load-generation.ts';
export type { LoadedGeneration, LoadedSubmission } from './load-generation.ts';
export { claimDueGenerations, parkGeneration, releaseDueGeneration } from './operate.ts';
export { recordOutput, renewOutput } from './outputs.ts';
export type { OutputRecord } from './outputs.ts';
export { findGeneration, listGenerations, readGenerationVersion } from './read-generations.ts';
export type { GenerationRow } from './read-generations.ts';
export { recordCallback } from './record-callback.ts';
export type { VerifiedCallback } from './record-callback.ts';
export { claimOutputs, recordObservation } from './record-observation.ts';
export type { ObservationRecord, OutputAttempts } from './record-observation.ts';
export { findRunFacts } from './run-facts.ts';
export type { RunFacts } from './run-facts.ts';
export { requestCancel, settle } from './settle.ts';
export type { Proposal, Settled } from './settle.ts';
export { claimSubmission, recordSubmission } from './submissions.ts';
export type {
  ClaimedSubmission,
  RecordedSubmission,
  SubmissionClaim,
  SubmissionRecord,
} from './submissions.ts';
export { findApiKey, insertApiKey, insertTenant, listTenants, revokeApiKey } from './tenants.ts';
