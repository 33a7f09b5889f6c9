import { z } from 'zod';
import { anyRequestSchema } from '../../../domain/generation-request.ts';
import { generationPath, generationSchema } from '../../../domain/generation-view.ts';
import { createGeneration, type CreateGenerationOutcome } from '../../../services/create-generation.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { LOCATION, REPLAYED, RETRY_AFTER, WATCH_TOKEN } from '../../headers.ts';
import { limitProblem } from '../../limits.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext, Reply, TenantCall, TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { scanUnavailable, tooManyFiles } from '../inputs/parts.ts';
import { watchTokenHeader } from '../../watch.ts';
import { requestProblem } from './request-problems.ts';

/** Seconds after which a first look may be worth it. */
const FIRST_LOOK_SECONDS = 2;

/** A person ends a pause; nobody knows when. */
const PAUSED_RETRY_SECONDS = '60';

export const createGenerationRoute: TenantRoute = {
  method: 'post',
  path: '/v1/generations',
  auth: 'generations',
  problems: [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    ...JSON_PROBLEMS,
    'invalid_request',
    'unknown_model',
    'unknown_account',
    'tenant_paused',
    'model_paused',
    'input_not_found',
    'input_unusable',
    'webhook_secret_missing',
    'busy',
    'storage_unavailable',
    'scan_unavailable',
    'insufficient_credits',
    'idempotency_key_in_progress',
    'price_changed',
    'idempotency_key_reuse',
    'too_many_generations',
    'daily_credits_reached',
  ],
  describe: (catalogue) => ({
    operationId: 'createGeneration',
    summary: 'Create a generation',
    description:
      'Holds its price in credits and takes the job; the work goes on in the background. Poll `poll_url` for its state. ' +
      'A file that the input names by its URL is fetched before the answer, which takes up to 15 seconds more; a repeated request ' +
      'fetches nothing. A refused call (400, 402, 403, 404, 409 `price_changed`, 422 `input_unusable`, 429, 503) leaves the Idempotency-Key free.',
    tags: ['Generations'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: anyRequestSchema(catalogue),
          example: {
            model: catalogue.models[0]!.id,
            input: { prompt: 'A lighthouse in a storm, seen from the sea' },
          },
        },
      },
    },
    responses: {
      '202': {
        description: 'Taken. A replay of the same key gives the very same bytes.',
        headers: {
          Location: LOCATION,
          'Retry-After': RETRY_AFTER,
          'Idempotent-Replayed': REPLAYED,
          'Watch-Token': WATCH_TOKEN,
        },
        content: { 'application/json': { schema: generationSchema } },
      },
    },
  }),
  handle: (ctx: ApiContext) => async (call) => {
    const key = idempotencyKey(call.request);
    const body = await readJsonObject(call.request);
    const outcome = await createGeneration(ctx, { tenantId: call.tenantId, idempotencyKey: key, body });
    return replyTo(ctx, call, outcome);
  },
};

/** What a watch token is made from; the stored bytes of the answer have it. */
const answeredSchema = z.object({ id: z.string(), deadline_at: z.string() });

function replyTo(ctx: ApiContext, call: TenantCall, outcome: CreateGenerationOutcome): Reply {
  switch (outcome.outcome) {
    case 'created':
    case 'replayed':
      return {
        status: 202,
        generation: outcome.generationId,
        headers: {
          Location: generationPath(outcome.generationId),
          'Retry-After': String(FIRST_LOOK_SECONDS),
          ...(outcome.outcome === 'replayed' ? { 'Idempotent-Replayed': 'true' } : {}),
          ...watchTokenHeader(ctx, call, answeredSchema.parse(JSON.parse(outcome.responseBody))),
        },
        contentType: 'application/json',
        body: outcome.responseBody,
      };
    case 'invalid':
    case 'unknown_model':
    case 'price_changed':
      throw requestProblem(outcome);
    case 'limit_reached':
      throw limitProblem(outcome);
    case 'unknown_account':
      throw new Problem('unknown_account', 'Grant credits to this account first; a grant creates it.', {
        errors: [{ path: '/account', message: 'No account of this name.' }],
      });
    case 'tenant_paused':
      throw new Problem(
        'tenant_paused',
        'New generations of your tenant are stopped for now; what runs goes on. Ask your operator.',
      );
    case 'model_paused':
      throw new Problem(
        'model_paused',
        'This model takes nothing new for now: use another one, or send the same request again later.',
        { headers: { 'Retry-After': PAUSED_RETRY_SECONDS } },
      );
    case 'unknown_input':
      throw new Problem('input_not_found', 'Upload the file (again): it was deleted or never there.', {
        errors: [{ path: `/input/${outcome.field}`, message: 'No stored input of this id.' }],
      });
    case 'unusable_input':
      throw new Problem(
        'input_unusable',
        'Correct what "errors" says, then send the same request again. Nothing was held.',
        { errors: [{ path: `/input/${outcome.field}`, message: outcome.message }] },
      );
    case 'inputs_busy':
      throw tooManyFiles();
    case 'input_scan_failed':
      throw scanUnavailable();
    case 'webhook_secret_missing':
      throw new Problem(
        'webhook_secret_missing',
        'Create the secret that callback_url is signed with: POST /v1/webhook-secret/rotate. Then send the same request again.',
        { errors: [{ path: '/callback_url', message: 'Your tenant has no default secret.' }] },
      );
    case 'insufficient_credits':
      throw new Problem(
        'insufficient_credits',
        'Grant credits to the account, then send the same request again.',
        {
          extensions: { available: outcome.available, required: outcome.required },
        },
      );
    case 'key_reuse':
      throw new Problem(
        'idempotency_key_reuse',
        'Use a new Idempotency-Key for another request; this one stands for another body.',
      );
    case 'in_progress':
      throw new Problem(
        'idempotency_key_in_progress',
        'The first request with this key still runs: send the same request again soon.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
  }
}
