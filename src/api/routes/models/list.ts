import { z } from 'zod';
import type { Catalogue, Model } from '../../../domain/catalogue.ts';
import { minDeadlineSeconds } from '../../../domain/generation-request.ts';
import { METHODS } from '../../../domain/input-fields.ts';
import { inputSchema } from '../../../domain/input-schema.ts';
import { findPausedModels } from '../../../services/list-pauses.ts';
import { json, type TenantRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { priceSchema } from './price.ts';

const seconds = z.int().positive();
const modelSchema = z
  .object({
    id: z.string().meta({ description: 'What a generation names as `model`.', example: 'infro-video' }),
    object: z.literal('model').meta({ description: 'Always `model`.' }),
    title: z.string().meta({ description: 'For people.' }),
    method: z.enum(METHODS).meta({ description: 'What it makes of what.' }),
    providers: z.array(z.string()).meta({
      description: 'Who may run it, in the order in which they are tried; a generation may name one.',
    }),
    input_schema: z
      .record(z.string(), z.unknown())
      .meta({ description: 'JSON Schema of `input`. A field with a default may be left out.' }),
    price: priceSchema,
    outputs: z
      .object({
        max_count: z.int().min(1).meta({ description: 'The most that one generation may ask for.' }),
        media_types: z
          .array(z.string())
          .meta({ description: 'What an output can be.', example: ['video/mp4'] }),
      })
      .meta({ description: 'What it delivers.' }),
    paused: z.boolean().meta({
      description: 'True while no new generation of it is taken: creating one answers 503 `model_paused`.',
    }),
    expected_duration_seconds: seconds.meta({ description: 'How long it usually takes.' }),
    deadline_seconds: z
      .object({
        default: seconds.meta({ description: 'When the generation names none.' }),
        min: seconds.meta({ description: 'The shortest that it may name: above the expected duration.' }),
        max: seconds.meta({ description: 'The longest that it may name.' }),
      })
      .meta({ description: 'Seconds after which an unfinished generation expires.' }),
  })
  .meta({ id: 'Model' });

function providersOf({ routes }: Model): string[] {
  return [...new Set(routes.map(({ provider }) => provider))];
}

/** All but what changes while the process runs. */
function viewModel(model: Model): Omit<z.infer<typeof modelSchema>, 'paused'> {
  const { default: preset, max } = model.deadlineSeconds;
  return {
    id: model.id,
    object: 'model',
    title: model.title,
    method: model.method,
    providers: providersOf(model),
    input_schema: z.toJSONSchema(inputSchema(model), { io: 'input' }),
    price: model.price,
    outputs: { max_count: model.input.count?.max ?? 1, media_types: model.outputs.mediaTypes },
    expected_duration_seconds: model.expectedDurationSeconds,
    deadline_seconds: { default: preset, min: minDeadlineSeconds(model), max },
  };
}

function querySchema({ models }: Catalogue) {
  const names = [...new Set(models.flatMap(providersOf))];
  return z.strictObject({
    provider: z
      .enum(names, `No model has it; use one of ${names.join(', ')}.`)
      .optional()
      .meta({ description: 'Only models that this provider may run.', example: names[0] }),
  });
}

export const listModelsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/models',
  auth: 'generations',
  problems: ['invalid_query'],
  describe: (catalogue) => ({
    operationId: 'listModels',
    summary: 'List models',
    description:
      'Every model with the schema of its input and its price as a rule that you can compute with.',
    tags: ['Models'],
    requestParams: { query: querySchema(catalogue) },
    responses: {
      '200': {
        description: 'All models, in the order of the catalogue.',
        content: {
          'application/json': {
            schema: z.object({ data: z.array(modelSchema).meta({ description: 'The models.' }) }),
          },
        },
      },
    },
  }),
  handle: (ctx) => {
    const all = ctx.catalogue.models.map(viewModel);
    const schema = querySchema(ctx.catalogue);
    return async (call) => {
      const { provider } = parseQuery(schema, call.query);
      const asked = all.filter(({ providers }) => provider === undefined || providers.includes(provider));
      const paused = await findPausedModels(ctx);
      return json(200, { data: asked.map((model) => ({ ...model, paused: paused.has(model.id) })) });
    };
  },
};
