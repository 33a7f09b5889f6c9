import { z } from 'zod';
import { anyRequestSchema } from '../../../domain/generation-request.ts';
import { quoteGeneration } from '../../../services/quote-generation.ts';
import { requestProblem } from '../generations/request-problems.ts';
import { json, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';

const quoteSchema = z
  .object({
    object: z.literal('quote').meta({ description: 'Always `quote`.' }),
    model: z.string().meta({ description: 'Id of the model.' }),
    credits: z.int().min(1).meta({ description: 'What the generation would hold now: whole credits.' }),
    credits_per_output: z.int().min(1).meta({ description: 'Charged for each output that is stored.' }),
    outputs: z.int().min(1).meta({ description: 'How many outputs are asked for.' }),
    account: z.string().meta({ description: 'The account that would pay.' }),
    available: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Its available credits now; null when there is no such account yet.' }),
    affordable: z.boolean().meta({ description: 'Whether they suffice now.' }),
    paused: z.boolean().meta({
      description: 'True while no new generation of this model, or of your tenant, is taken.',
    }),
  })
  .meta({ id: 'Quote' });

export const createQuoteRoute: TenantRoute = {
  method: 'post',
  path: '/v1/quotes',
  auth: 'generations',
  problems: [...JSON_PROBLEMS, 'invalid_request', 'unknown_model', 'price_changed'],
  describe: (catalogue) => ({
    operationId: 'createQuote',
    summary: 'Price a generation',
    description:
      'Takes the body of a generation, checks it alike and says what it would cost. Starts and holds nothing, so it needs no ' +
      'Idempotency-Key. Send `credits` as `max_credits` of the generation, so that it is never dearer.',
    tags: ['Models'],
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
      '200': { description: 'The price.', content: { 'application/json': { schema: quoteSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = await readJsonObject(call.request);
    const quoted = await quoteGeneration(ctx, { tenantId: call.tenantId, body });
    if (quoted.outcome !== 'quoted') throw requestProblem(quoted);
    const { model, credits, creditsPerOutput, outputs, account, available, paused } = quoted.quote;
    return json(200, {
      object: 'quote',
      model,
      credits,
      credits_per_output: creditsPerOutput,
      outputs,
      account,
      available,
      affordable: available !== null && available >= credits,
      paused,
    });
  },
};
