import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { STATES } from '../../../domain/generation.ts';
import { generationSchema } from '../../../domain/generation-view.ts';
import { GENERATION_ID } from '../../../domain/ids.ts';
import { listGenerations } from '../../../services/list-generations.ts';
import { linksTo } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { json, type TenantRoute } from '../../route.ts';
import { parseQuery, timeText } from '../../validation.ts';

const querySchema = z.strictObject({
  account: accountSchema.optional(),
  state: z.enum(STATES).optional().meta({ description: 'Only those in this state.' }),
  model: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,63}$/, 'Use the id of a model.')
    .optional()
    .meta({ description: 'Id of a model.' }),
  created_after: timeText
    .optional()
    .meta({ description: 'Only those created after this time.', example: '2026-11-29T12:00:00Z' }),
  ...pageQuery(GENERATION_ID),
});

export const listGenerationsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/generations',
  auth: 'generations',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listGenerations',
    summary: 'List generations',
    description: 'Newest first. Pages stay stable while new generations come in, also for equal times.',
    tags: ['Generations'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(generationSchema) } },
        links: {
          ...linksTo(
            { getGeneration: 'id', deleteOutputs: 'id', eraseInput: 'id' },
            '$response.body#/data/0/id',
          ),
        },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const page = await listGenerations(ctx, {
      tenantId: call.tenantId,
      account: query.account,
      state: query.state,
      model: query.model,
      createdAfter: query.created_after === undefined ? undefined : new Date(query.created_after),
      ...pageOf(query, GENERATION_ID),
    });
    return json(200, page);
  },
};
