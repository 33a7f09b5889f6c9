import { z } from 'zod';
import { getGeneration } from '../../../services/get-generation.ts';
import { Problem } from '../../problems.ts';
import type { TenantRoute } from '../../route.ts';
import { generationNotFound, generationParams } from './parts.ts';

/** A lasting address of one output: each call gives a fresh link. */
export const getOutputRoute: TenantRoute = {
  method: 'get',
  path: '/v1/generations/{id}/outputs/{n}',
  auth: 'generations',
  problems: ['generation_not_found', 'output_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getOutput',
    summary: 'Download an output',
    description:
      'Sends you on to a fresh signed link. Whoever has that link can read the file until its time, so hand out the link, never ' +
      'your key.',
    tags: ['Generations'],
    requestParams: {
      path: generationParams.extend({
        n: z
          .string()
          .regex(/^(?:0|[1-9]\d{0,2})$/)
          .meta({ description: 'Index of the output, from 0.', example: '0' }),
      }),
    },
    responses: {
      '302': {
        description: 'The link.',
        headers: {
          Location: { description: 'The same link as `outputs[].url`.', schema: { type: 'string' } },
        },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const view = await getGeneration(ctx, { tenantId: call.tenantId, id: call.params['id']! });
    if (view === null) throw generationNotFound();
    const { n } = call.params;
    const url = view.outputs.find(({ index }) => String(index) === n)?.url ?? null;
    if (url === null) {
      throw new Problem(
        'output_not_found',
        'Read the generation: `outputs` lists what is stored; a deleted output has no `url`.',
      );
    }
    return { status: 302, headers: { Location: url } };
  },
};
