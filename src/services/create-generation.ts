import { createHash, randomBytes } from 'node:crypto';
import { createGeneration as insertGeneration } from '../db/index.ts';
import type { Model } from '../domain/catalogue.ts';
import { requestSchema, type GenerationRequest } from '../domain/generation-request.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { newId } from '../domain/ids.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import { freezePlan } from '../domain/plan.ts';
import { priceInCredits } from '../domain/pricing.ts';
import type { ServiceContext } from './context.ts';
import { findStoredAnswer } from './find-stored-answer.ts';
import { fieldErrors, type FieldError } from './issue-paths.ts';

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
  | Refusal;

/** Refused by what was asked for, before anything is written; the key stays free. */
type Refusal =
  | { readonly outcome: 'unknown_model' }
  | { readonly outcome: 'invalid'; readonly errors: readonly FieldError[] }
  | { readonly outcome: 'price_changed'; readonly price: number; readonly maxCredits: number };

type Checked =
  | Refusal
  | {
      readonly outcome: 'ok';
      readonly model: Model;
      readonly request: GenerationRequest;
      readonly price: number;
    };

/** Holds the credits and takes the job, once per key; the run is started after it, in the background. */
export async function createGeneration(
  ctx: ServiceContext,
  input: CreateGenerationInput,
): Promise<CreateGenerationOutcome> {
  const requestSha256 = createHash('sha256')
    .update(`${ROUTE}\n${canonicalJson(input.body)}`)
    .digest('hex');
  const checked = checkRequest(ctx, input.body);
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
  const { model, request, price } = checked;
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
    provider: model.routes[0]!.provider,
    input: request.input,
    metadata: request.metadata,
    plan: freezePlan(model, price),
    credits: price,
    deadlineSeconds: request.deadline_seconds,
    responseTemplate: renderTemplate({ generationId, model, request, price, nonce }),
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

function checkRequest(ctx: ServiceContext, body: JsonObject): Checked {
  const id = body['model'];
  const model = ctx.catalogue.models.find((candidate) => candidate.id === id);
  if (model === undefined && typeof id === 'string') return { outcome: 'unknown_model' };
  // Without a model the first one's schema still names every other wrong field.
  const parsed = requestSchema(model ?? ctx.catalogue.models[0]!).safeParse(body, { reportInput: true });
  if (!parsed.success) return { outcome: 'invalid', errors: fieldErrors(parsed.error) };
  if (model === undefined) return { outcome: 'unknown_model' };
  const price = priceInCredits(model, parsed.data.input.duration_seconds);
  const maxCredits = parsed.data.max_credits;
  if (maxCredits !== undefined && price > maxCredits) return { outcome: 'price_changed', price, maxCredits };
  return { outcome: 'ok', model, request: parsed.data, price };
}

/** The bytes of the 202, with marks where the database puts its own clock's times. */
function renderTemplate(generation: {
  readonly generationId: string;
  readonly model: Model;
  readonly request: GenerationRequest;
  readonly price: number;
  readonly nonce: string;
}): string {
  const { generationId, model, request, price, nonce } = generation;
  const createdAt = `${nonce}:created_at`;
  const view = viewGeneration({
    id: generationId,
    account: request.account,
    state: 'queued',
    stage: 'queued',
    progress: null,
    model: model.id,
    input: request.input,
    metadata: request.metadata,
    creditsHeld: price,
    creditsCaptured: 0,
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
