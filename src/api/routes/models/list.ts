import { z } from 'zod';
import type { Model } from '../../../domain/catalogue.ts';
import { inputSchema } from '../../../domain/generation-request.ts';
import { json, type TenantRoute } from '../../route.ts';

const modelSchema = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    title: z.string(),
    method: z.string(),
    input_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema of `input`.' }),
    price: z.object({ credits_per_second: z.int().positive() }),
    expected_duration_seconds: z.int().positive(),
    deadline_seconds: z.object({ default: z.int().positive(), max: z.int().positive() }),
  })
  .meta({ id: 'Model' });

function viewModel(model: Model): z.infer<typeof modelSchema> {
  return {
    id: model.id,
    object: 'model',
    title: model.title,
    method: model.method,
    input_schema: z.toJSONSchema(inputSchema(model), { io: 'input' }),
    price: { credits_per_second: model.price.creditsPerSecond },
    expected_duration_seconds: model.expectedDurationSeconds,
    deadline_seconds: model.deadlineSeconds,
  };
}

export const listModelsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/models',
  auth: 'generations',
  problems: [],
  describe: () => ({
    operationId: 'listModels',
    summary: 'List models',
    description: 'Every model with the schema of its input and its price.',
    tags: ['Models'],
    responses: {
      '200': {
        description: 'All models.',
        content: { 'application/json': { schema: z.object({ data: z.array(modelSchema) }) } },
      },
    },
  }),
  handle: (ctx) => {
    const data = ctx.catalogue.models.map(viewModel);
    return async () => json(200, { data });
  },
};
