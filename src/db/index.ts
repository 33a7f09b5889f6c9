export { openChangeFeed } from './change-feed.ts';
export type { ChangeFeed } from './change-feed.ts';
export { assertDatabaseUsable, openDb } from './client.ts';
export type { Db } from './client.ts';
export { createGeneration } from './create-generation.ts';
export type { NewGeneration } from './create-generation.ts';
export {
  checkInvariants,
  findPathsWithoutRow,
  isStillStored,
  listStoredFiles,
  readInvariants,
} from './doctor.ts';
export type { InvariantResult, StoredFile } from './doctor.ts';
export { isDatabaseUnavailable } from './errors.ts';
export { findFollowed, readEventNumbers, readEvents } from './events.ts';
export type { FollowedGeneration, GenerationEvent } from './events.ts';
export {
  claimFileRemovals,
  countFileRemovals,
  deleteOutputs,
  eraseGeneration,
  findInputFile,
  findOutputFile,
  finishFileRemoval,
  pruneHistory,
  rotateLinks,
  setRetention,
} from './files.ts';
export type { Erasure, FileRemoval, LinkedRow, Pruned, ServedFile } from './files.ts';
export { dropFetchedInputs, findGenerationInputs, findInputs, recordInput } from './inputs.ts';
export type { GenerationInput, InputRow, NewInput } from './inputs.ts';
export { liveCallbackKeyIds, liveSecretKeyIds } from './key-ids.ts';
export { grantCredits, listAccountEntries, readCredits, refundGeneration } from './ledger.ts';
export type { AccountEntry, Credits, Granted, Refunded } from './ledger.ts';
export { listUsageLimits, setUsageLimit, takeTenantRequest } from './limits.ts';
export type { LimitReached, LimitScope, ShownLimit, TakenRequest, UsageLimits } from './limits.ts';
export {
  claimLateObservations,
  postponeLateSearch,
  recordLateCancel,
  recordLateLook,
} from './late-observations.ts';
export type { LateObservation } from './late-observations.ts';
export { loadGeneration } from './load-generation.ts';
export type { LoadedGeneration, LoadedSubmission } from './load-generation.ts';
export { claimDueGenerations, countWaitingJobs, parkGeneration, releaseDueGeneration } from './operate.ts';
export { recordOutput, renewOutput } from './outputs.ts';
export type { OutputRecord } from './outputs.ts';
export { listProviderBudgets, setProviderBudget } from './provider-budgets.ts';
export type { ProviderBudget } from './provider-budgets.ts';
export { findGeneration, listGenerations } from './read-generations.ts';
export type { GenerationRow, OutputRow } from './read-generations.ts';
export { recordCallback } from './record-callback.ts';
export type { VerifiedCallback } from './record-callback.ts';
export { claimOutputs, observationFields, recordObservation } from './record-observation.ts';
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
export { findApiKey, insertApiKey, insertTenant, listTenants } from './tenants.ts';
export {
  claimDeliveries,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  keepWebhookBody,
  recordDeliveryAttempt,
  redeliverWebhooks,
  rotateWebhookSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from './webhooks.ts';
export type {
  ClaimedDelivery,
  DeliveryAttempt,
  EndpointChange,
  NewEndpoint,
  Redelivery,
} from './webhooks.ts';
export {
  findWebhookDelivery,
  findWebhookEndpoint,
  listWebhookDeliveries,
  listWebhookEndpoints,
} from './read-webhooks.ts';
export type { DeliveryRow, DeliveryWithAttempts, EndpointRow } from './read-webhooks.ts';
