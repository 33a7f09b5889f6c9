import { generationSchema } from '../../../domain/generation-view.ts';
import { eraseGeneration } from '../../../services/erase-generation.ts';
import { WATCH_TOKEN } from '../../headers.ts';
import { json, type TenantRoute } from '../../route.ts';
import { watchTokenHeader } from '../../watch.ts';
import { generationNotFound, generationParams, notTerminal } from './parts.ts';

export const eraseInputRoute: TenantRoute = {
  method: 'delete',
  path: '/v1/generations/{id}/input',
  auth: 'generations',
  problems: ['generation_not_found', 'not_terminal', 'malformed_url'],
  describe: () => ({
    operationId: 'eraseInput',
    summary: 'Erase what a generation was asked for',
    description:
      'Takes prompt and input out of everything that is kept here, for good; `input` is empty from then on, also in a replay of ' +
      'the first answer. Input files that no other generation uses are deleted. State, credits and outputs stay. Repeating it ' +
      'changes nothing.',
    tags: ['Generations'],
    requestParams: { path: generationParams },
    responses: {
      '200': {
        description: 'Erased.',
        headers: { 'Watch-Token': WATCH_TOKEN },
        content: { 'application/json': { schema: generationSchema } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const erased = await eraseGeneration(ctx, { tenantId: call.tenantId, id: call.params['id']! });
    switch (erased.outcome) {
      case 'erased':
        return json(200, erased.generation, watchTokenHeader(ctx, call, erased.generation));
      case 'not_terminal':
        throw notTerminal();
      case 'not_found':
        throw generationNotFound();
    }
  },
};
