import { z } from 'zod';
import { anyRequestSchema } from '../../../domain/generation-request.ts';
import { generationPath, generationSchema } from '../../../domain/generation-view.ts';
import { createGeneration, type CreateGenerationOutcome } from '../../../services/create-generation.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { LOCATION, REPLAYED, RETRY_AFTER, WATCH_TOKEN } from '../../headers.ts';
import { GENERATION_LINKS } from '../../links.ts';
import type { ApiContext, Reply, TenantCall, TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { watchTokenHeader } from '../../watch.ts';
import { CREATION_PROBLEMS, creationProblem } from './creation-problem.ts';

/** Seconds after which a first look may be worth it. */
const FIRST_LOOK_SECONDS = 2;

export const createGenerationRoute: TenantRoute = {
  method: 'post',
  path: '/v1/generations',
  auth: 'generations',
  problems: ['idempotency_key_missing', 'idempotency_key_invalid', ...JSON_PROBLEMS, ...CREATION_PROBLEMS],
  describe: (catalogue) => ({
    operationId: 'createGeneration',
    summary: 'Create a generation',
    description:
      'Holds its price in credits and takes the job; the work goes on in the background. Poll `poll_url` for its state. ' +
      'A file that the input names by its URL is fetched before the answer, which takes up to 15 seconds more; a repeated request ' +
      'fetches nothing. A refused call (400, 402, 403, 404, 409 but `idempotency_key_in_progress`, 422 `input_unusable`, 429, 503) leaves the Idempotency-Key free.',
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
        links: GENERATION_LINKS,
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
    default:
      throw creationProblem(outcome);
  }
}
