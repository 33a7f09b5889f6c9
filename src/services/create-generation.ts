import { createHash, randomBytes } from 'node:crypto';
import { createGeneration as insertGeneration, type LimitReached } from '../db/index.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { newId } from '../domain/ids.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import { freezePlan } from '../domain/plan.ts';
import type { ServiceContext } from './context.ts';
import { findStoredAnswer } from './find-stored-answer.ts';
import { priceRequest, type PricedRequest, type RequestRefusal } from './price-request.ts';

/** Keys are unique per tenant and this. */
const ROUTE = 'POST /v1/generations';

export interface CreateGenerationInput {
  readonly tenantId: string;
  readonly idempotencyKey: string;
  readonly body: JsonObject;
}

export type CreateGenerationOutcome =
  | { readonly outcome: 'created' | 'replayed'; readonly generationId: string; readonly responseBody: string }
  | { readonly outcome: 'key_reuse' | 'in_progress' }
  | { readonly outcome: 'unknown_account'; readonly account: string }
  | { readonly outcome: 'insufficient_credits'; readonly available: number; readonly required: number }
  | LimitReached
  | RequestRefusal;

/** Holds the credits and takes the job, once per key; the run is started after it, in the background. */
export async function createGeneration(
  ctx: ServiceContext,
  input: CreateGenerationInput,
): Promise<CreateGenerationOutcome> {
  const requestSha256 = createHash('sha256')
    .update(`${ROUTE}\n${canonicalJson(input.body)}`)
    .digest('hex');
  const checked = priceRequest(ctx.catalogue, input.body);
  if (checked.outcome !== 'ok') {
    // What was accepted once is replayed, also when a new catalogue or price would refuse it now.
    const stored = await findStoredAnswer(ctx.db, {
      tenantId: input.tenantId,
      idempotencyRoute: ROUTE,
      idempotencyKey: input.idempotencyKey,
    });
    if (stored === null) return checked;
    if (stored.requestSha256 !== requestSha256) return { outcome: 'key_reuse' };
    return { outcome: 'replayed', generationId: stored.generationId, responseBody: stored.responseBody };
  }
  const { model, request, input: asked, price, routes } = checked;
  const providerChosen = request.provider !== undefined;
  const generationId = newId('gen', ctx.nowMs());
  const nonce = randomBytes(16).toString('hex');
  const created = await insertGeneration(ctx.db, {
    generationId,
    tenantId: input.tenantId,
    account: request.account,
    route: ROUTE,
    idempotencyKey: input.idempotencyKey,
    requestSha256,
    model: model.id,
    provider: routes[0]!.provider,
    input: asked,
    metadata: request.metadata,
    plan: freezePlan({ model, routes, providerChosen, input: asked, price }),
    credits: price.credits,
    deadlineSeconds: request.deadline_seconds,
    responseTemplate: renderTemplate(checked, generationId, nonce),
    nonce,
  });
  switch (created.outcome) {
    case 'created':
      ctx.starter.enqueue(created.run, 'created');
      return { outcome: 'created', generationId: created.generationId, responseBody: created.responseBody };
    case 'replayed':
      return { outcome: 'replayed', generationId: created.generationId, responseBody: created.responseBody };
    case 'unknown_account':
      return { outcome: 'unknown_account', account: request.account };
    default:
      return created;
  }
}

/** The bytes of the 202, with marks where the database puts its own clock's times. */
function renderTemplate(
  { model, request, input, price }: PricedRequest,
  generationId: string,
  nonce: string,
): string {
  const createdAt = `${nonce}:created_at`;
  const view = viewGeneration({
    id: generationId,
    account: request.account,
    state: 'queued',
    stage: 'queued',
    progress: null,
    model: model.id,
    provider: request.provider ?? null,
    input,
    metadata: request.metadata,
    creditsHeld: price.credits,
    creditsCaptured: 0,
    creditsRefunded: 0,
    holdOpen: true,
    delivery: 'pending',
    cancellation: null,
    errorCode: null,
    outputs: [],
    createdAt,
    updatedAt: createdAt,
    startedAt: null,
    completedAt: null,
    deadlineAt: `${nonce}:deadline_at`,
    expectedDurationSeconds: model.expectedDurationSeconds,
  });
  return JSON.stringify(view);
}
