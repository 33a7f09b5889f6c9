export { assertDatabaseUsable, openDb } from './client.ts';
export type { Db } from './client.ts';
export { createGeneration } from './create-generation.ts';
export type { NewGeneration } from './create-generation.ts';
export { checkInvariants, findPathsWithoutOutput, listStoredOutputs, readInvariants } from './doctor.ts';
export type { InvariantResult } from './doctor.ts';
export { isDatabaseUnavailable } from './errors.ts';
export { liveCallbackKeyIds } from './key-ids.ts';
export { grantCredits, listAccountEntries, readCredits, refundGeneration } from './ledger.ts';
export type { AccountEntry, Credits, Granted, Refunded } from './ledger.ts';
export { listUsageLimits, setUsageLimit, takeTenantRequest } from './limits.ts';
export type { LimitReached, LimitScope, ShownLimit, TakenRequest, UsageLimits } from './limits.ts';
export { claimLateObservations, postponeLateSearch } from './late-observations.ts';
export type { LateObservation } from './late-observations.ts';
export { loadGeneration } from './load-generation.ts';
export type { LoadedGeneration, LoadedSubmission } from './load-generation.ts';
export { claimDueGenerations, countWaitingJobs, parkGeneration, releaseDueGeneration } from './operate.ts';
export { recordOutput, renewOutput } from './outputs.ts';
export type { OutputRecord } from './outputs.ts';
export { listProviderBudgets, setProviderBudget } from './provider-budgets.ts';
export type { ProviderBudget } from './provider-budgets.ts';
export { findGeneration, listGenerations, readGenerationVersion } from './read-generations.ts';
export type { GenerationRow } from './read-generations.ts';
export { recordCallback } from './record-callback.ts';
export type { VerifiedCallback } from './record-callback.ts';
export {
  claimOutputs,
  OBSERVED_AFTER_THE_END,
  observationFields,
  recordObservation,
} from './record-observation.ts';
export type { ObservationRecord, OutputAttempts } from './record-observation.ts';
export { resolveGeneration } from './resolve-generation.ts';
export type { Resolved } from './resolve-generation.ts';
export { findRunFacts } from './run-facts.ts';
export type { RunFacts } from './run-facts.ts';
export { requestCancel, settle } from './settle.ts';
export type { Proposal, Settled } from './settle.ts';
export { claimSubmission, findOpenRoute, recordSubmission } from './submissions.ts';
export type {
  CircuitLimits,
  ClaimedSubmission,
  RecordedSubmission,
  SubmissionClaim,
  SubmissionRecord,
} from './submissions.ts';
export { findApiKey, insertApiKey, insertTenant, listTenants, revokeApiKey } from './tenants.ts';
