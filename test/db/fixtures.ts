import { randomUUID } from 'node:crypto';
import {
  claimSubmission,
  createGeneration,
  grantCredits,
  insertTenant,
  recordCallback,
  recordObservation,
  recordOutput,
  recordSubmission,
} from '../../src/db/index.ts';
import type {
  Db,
  NewGeneration,
  ObservationRecord,
  OutputRecord,
  SubmissionClaim,
  VerifiedCallback,
} from '../../src/db/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { newId } from '../../src/domain/ids.ts';
import { freezePlan } from '../../src/domain/plan.ts';
import type { FrozenPlan } from '../../src/domain/plan.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';

export const PRICE = 100;
/** For claims on rows whose deadline is past already. */
export const NO_RUNWAY = -3_600_000;

export interface Tenant {
  readonly id: string;
  readonly accountId: string;
}

/** A tenant of its own for each test; zero credits = none granted. */
export async function newTenant(db: Db, credits = 1_000): Promise<Tenant> {
  const tenant = { id: newId('ten'), accountId: newId('acc') };
  await insertTenant(db, { ...tenant, name: 'test' });
  if (credits > 0) await grant(db, tenant, credits, 'start');
  return tenant;
}

export function grant(db: Db, tenant: Tenant, credits: number, businessKey: string, account = 'default') {
  return grantCredits(db, {
    tenantId: tenant.id,
    account,
    accountId: newId('acc'),
    credits,
    businessKey,
    reason: 'test',
    actor: 'test',
  });
}

/** The plan of `outputs` files at this price each, in whole credits. */
export function planFor(outputs = 1, creditsPerOutput = PRICE): FrozenPlan {
  const model = DEFAULT_CATALOGUE.models[0]!;
  return freezePlan({
    model,
    routes: model.routes,
    providerChosen: false,
    input: { prompt: 'a cat', duration_seconds: 5 },
    price: { credits: outputs * creditsPerOutput, creditsPerOutput, outputs },
  });
}

/** The part of a new generation that says what it costs. */
export function sold(outputs: number, creditsPerOutput: number): Pick<NewGeneration, 'plan' | 'credits'> {
  const plan = planFor(outputs, creditsPerOutput);
  return { plan, credits: plan.creditsTotal };
}

export function newGeneration(tenant: Tenant, over: Partial<NewGeneration> = {}): NewGeneration {
  const nonce = randomUUID();
  const plan = planFor(1, over.credits);
  return {
    generationId: newId('gen'),
    tenantId: tenant.id,
    account: 'default',
    route: 'POST /v1/generations',
    idempotencyKey: randomUUID(),
    requestSha256: 'ab'.repeat(32),
    model: 'infro-video',
    provider: 'infro',
    input: { prompt: 'a cat' },
    metadata: {},
    plan,
    credits: plan.creditsTotal,
    deadlineSeconds: 900,
    responseTemplate: `{"created_at":"${nonce}:created_at","deadline_at":"${nonce}:deadline_at"}`,
    nonce,
    callbackUrl: null,
    inputs: [],
    retentionMs: 30 * 86_400_000,
    ...over,
  };
}

/** A generation that holds its price; its id. */
export async function create(db: Db, tenant: Tenant, over: Partial<NewGeneration> = {}): Promise<string> {
  const generation = newGeneration(tenant, over);
  const { outcome } = await createGeneration(db, generation);
  if (outcome !== 'created') throw new Error(`create_generation said ${outcome}`);
  return generation.generationId;
}

export function claimOf(generationId: string, over: Partial<SubmissionClaim> = {}): SubmissionClaim {
  const ordinal = over.ordinal ?? 1;
  const id = submissionId(generationId, ordinal);
  return {
    generationId,
    ordinal,
    routeIndex: 0,
    submissionId: id,
    provider: 'infro',
    credential: 'main',
    idempotencyKey: providerIdempotencyKey(id),
    request: {
      method: 'POST',
      path: '/v1/jobs',
      contentType: 'application/json',
      body: '{"prompt":"a cat"}',
    },
    callbackBase: 'https://darkroom.example/callbacks',
    callbackKeyId: 'k1',
    leaseMs: 40_000,
    minimumRunwayMs: NO_RUNWAY,
    replay: false,
    replayWindowMs: 86_400_000,
    estimatedCost: null,
    ...over,
  };
}

/** Claims and must be given the right to send; the fence. */
export async function send(
  db: Db,
  generationId: string,
  over: Partial<SubmissionClaim> = {},
): Promise<number> {
  const claimed = await claimSubmission(db, claimOf(generationId, over));
  if (claimed.outcome !== 'send') throw new Error(`claim_submission said ${claimed.outcome}`);
  return claimed.fence;
}

export function accept(db: Db, generationId: string, jobId = `job-${generationId}`, ordinal = 1) {
  return recordSubmission(db, {
    submissionId: submissionId(generationId, ordinal),
    kind: 'accepted',
    jobId,
    handle: { jobId },
    providerStatus: 'queued',
    dueInMs: 60_000,
  });
}

/** Every answer but an acceptance. */
export function answer(
  db: Db,
  generationId: string,
  fence: number,
  kind: 'refused' | 'capacity' | 'not_sent' | 'unknown',
  ordinal = 1,
) {
  const record = {
    submissionId: submissionId(generationId, ordinal),
    fence,
    problem: `was_${kind}`,
    retryInMs: 5_000,
  };
  return recordSubmission(
    db,
    kind === 'refused' ? { ...record, kind, refusalCode: 'provider_rejected' } : { ...record, kind },
  );
}

export function observe(
  db: Db,
  generationId: string,
  kind: ObservationRecord['kind'],
  over: Partial<ObservationRecord> = {},
) {
  return recordObservation(db, {
    submissionId: submissionId(generationId, 1),
    by: 'poll',
    kind,
    status: kind,
    progress: null,
    problem: null,
    outputCount: 1,
    storeForMs: 86_400_000,
    linkInMs: null,
    storeLeaseMs: 15_000,
    dueInMs: 60_000,
    cost: null,
    cancelSent: false,
    cancelOutcome: null,
    ended: false,
    ...over,
  });
}

type StoredRecord = Extract<OutputRecord, { result: 'stored' }>;

export function store(db: Db, generationId: string, over: Partial<StoredRecord> = {}) {
  const attempt = { generationId, index: over.index ?? 0, attempt: over.attempt ?? 1 };
  return recordOutput(db, {
    ...attempt,
    result: 'stored',
    path: `${generationId}/${attempt.index}-${attempt.attempt}.mp4`,
    bytes: 1_000 + attempt.attempt,
    sha256: 'cd'.repeat(32),
    mediaType: 'video/mp4',
    width: 640,
    height: 360,
    durationSeconds: 5,
    retentionMs: 86_400_000,
    ...over,
  });
}

export function drop(db: Db, generationId: string, index: number, result: 'lost' | 'invalid', attempt = 1) {
  return recordOutput(db, { generationId, index, attempt, result, problem: `is_${result}` });
}

export function callback(
  over: Partial<VerifiedCallback> & Pick<VerifiedCallback, 'submissionId'>,
): VerifiedCallback {
  return {
    provider: 'infro',
    credential: 'main',
    jobId: null,
    eventKey: randomUUID(),
    type: 'job.updated',
    terminal: false,
    progress: null,
    ...over,
  };
}

export function receive(db: Db, over: Partial<VerifiedCallback> & Pick<VerifiedCallback, 'submissionId'>) {
  return recordCallback(db, callback(over), Buffer.from('{"raw":true}'));
}

/** A generation whose job is accepted. */
export async function accepted(db: Db, tenant: Tenant, over: Partial<NewGeneration> = {}): Promise<string> {
  const id = await create(db, tenant, over);
  await send(db, id);
  await accept(db, id);
  return id;
}

/** A generation whose success is recorded and whose outputs are leased to attempt 1. */
export async function storing(
  db: Db,
  tenant: Tenant,
  outputs = 1,
  creditsPerOutput = PRICE,
): Promise<string> {
  const id = await accepted(db, tenant, sold(outputs, creditsPerOutput));
  await observe(db, id, 'succeeded', { outputCount: outputs });
  return id;
}
