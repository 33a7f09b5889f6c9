import { randomBytes } from 'node:crypto';
import {
  createGeneration as insertGeneration,
  dropFetchedInputs,
  readCredits,
  type LimitReached,
} from '../db/index.ts';
import { findPauseOf } from '../db/pauses.ts';
import { viewGeneration } from '../domain/generation-view.ts';
import { newId } from '../domain/ids.ts';
import { namedFiles } from '../domain/input-fields.ts';
import type { JsonObject } from '../domain/json.ts';
import { freezePlan } from '../domain/plan.ts';
import type { ServiceContext } from './context.ts';
import { findRepeat, requestDigest } from './find-repeat.ts';
import { prepareInputs, type InputRefusal } from './prepare-inputs.ts';
import { priceRequest, type PricedRequest, type RequestRefusal } from './price-request.ts';

/** Keys are unique per tenant and route. */
const ROUTE = 'POST /v1/generations';

export interface CreateGenerationInput {
  readonly tenantId: string;
  readonly idempotencyKey: string;
  readonly body: JsonObject;
  /** Of another front door: its own keys, and what makes two of its requests equal instead of the body. */
  readonly asked?: { readonly route: string; readonly request: JsonObject };
}

export type CreateGenerationOutcome =
  | { readonly outcome: 'created' | 'replayed'; readonly generationId: string; readonly responseBody: string }
  | { readonly outcome: 'key_reuse' | 'in_progress' | 'tenant_paused' | 'model_paused' }
  | { readonly outcome: 'unknown_account'; readonly account: string }
  | { readonly outcome: 'webhook_secret_missing' }
  | InputRefusal
  | { readonly outcome: 'insufficient_credits'; readonly available: number; readonly required: number }
  | LimitReached
  | RequestRefusal;

/**
 * Holds the credits and takes the job, once per key; the run is started after it, in the background. Files that the input
 * names are fetched or looked up before, never for a repeated request.
 */
export async function createGeneration(
  ctx: ServiceContext,
  input: CreateGenerationInput,
): Promise<CreateGenerationOutcome> {
  const { route, request: canonical } = input.asked ?? { route: ROUTE, request: input.body };
  const { tenantId, idempotencyKey: key } = input;
  const stored = () => findRepeat(ctx, { tenantId, route, key, request: canonical });
  const checked = priceRequest(ctx, input.body);
  if (checked.outcome !== 'ok') {
    // What was accepted once is replayed, also when a new catalogue or price would refuse it now.
    return (await stored()) ?? checked;
  }
  const files = namedFiles(checked.model.input, checked.input);
  const callbackUrl = checked.request.callback_url ?? null;
  if (files.length > 0 || callbackUrl !== null) {
    const repeat = await stored();
    if (repeat !== null) return repeat;
  }
  if (callbackUrl !== null && !(await hasDefaultSecret(ctx, input.tenantId))) {
    return { outcome: 'webhook_secret_missing' };
  }
  const { model, request, input: asked, price, routes } = checked;
  if (files.length > 0) {
    const paused = await findPauseOf(ctx.db, { tenantId: input.tenantId, model: model.id });
    if (paused !== null) return { outcome: paused };
    // Nothing is fetched for who could not pay: the hold decides, this only spares the disk.
    const credits = await readCredits(ctx.db, input.tenantId, request.account);
    if (credits === null) return { outcome: 'unknown_account', account: request.account };
    const { available } = credits;
    if (available < price.credits)
      return { outcome: 'insufficient_credits', available, required: price.credits };
  }
  const prepared = await prepareInputs(ctx, input.tenantId, files);
  if (prepared.outcome !== 'ready') return prepared;
  const providerChosen = request.provider !== undefined;
  const generationId = newId('gen', ctx.nowMs());
  const nonce = randomBytes(16).toString('hex');
  const created = await insertGeneration(ctx.db, {
    generationId,
    tenantId: input.tenantId,
    account: request.account,
    route,
    idempotencyKey: input.idempotencyKey,
    requestSha256: requestDigest(route, canonical),
    model: model.id,
    provider: routes[0]!.provider,
    input: asked,
    metadata: request.metadata,
    plan: freezePlan({ model, routes, providerChosen, input: asked, price }),
    credits: price.credits,
    deadlineSeconds: request.deadline_seconds,
    responseTemplate: renderTemplate(checked, generationId, nonce),
    nonce,
    callbackUrl,
    inputs: prepared.inputs,
    retentionMs: ctx.retentionMs,
  });
  if (created.outcome !== 'created' && prepared.inputs.length > 0) {
    const ids = prepared.inputs.map(({ inputId }) => inputId);
    await dropFetchedInputs(ctx.db, input.tenantId, ids);
  }
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

/** Whether there is a secret that the tenant's callback URLs are signed with. */
async function hasDefaultSecret({ db }: Pick<ServiceContext, 'db'>, tenantId: string): Promise<boolean> {
  const where = { tenantId, endpointId: null, expiresAt: null };
  return (await db.prisma.webhookSecret.findFirst({ where, select: { id: true } })) !== null;
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
