import { z } from 'zod';
import { INPUT_ID } from '../../../domain/ids.ts';
import { inputSchema } from '../../../domain/input-view.ts';
import { getInput } from '../../../services/get-input.ts';
import { json, type TenantRoute } from '../../route.ts';
import { inputNotFound } from './parts.ts';

export const getInputRoute: TenantRoute = {
  method: 'get',
  path: '/v1/inputs/{id}',
  auth: 'generations',
  problems: ['input_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getInput',
    summary: 'Read an input',
    description: 'What an uploaded file was found to be. The file itself is not given out again.',
    tags: ['Inputs'],
    requestParams: {
      path: z.object({
        id: z
          .string()
          .regex(INPUT_ID)
          .meta({ description: 'Id of the input.', example: 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
      }),
    },
    responses: {
      '200': { description: 'The input.', content: { 'application/json': { schema: inputSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const input = await getInput(ctx, { tenantId: call.tenantId, id: call.params['id']! });
    if (input === null) throw inputNotFound();
    return json(200, input);
  },
};
