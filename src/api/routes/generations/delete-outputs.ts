import { generationPath, generationSchema } from '../../../domain/generation-view.ts';
import { deleteOutputs } from '../../../services/delete-outputs.ts';
import { LOCATION, WATCH_TOKEN } from '../../headers.ts';
import { json, type TenantRoute } from '../../route.ts';
import { watchTokenHeader } from '../../watch.ts';
import { generationNotFound, generationParams, notTerminal } from './parts.ts';

export const deleteOutputsRoute: TenantRoute = {
  method: 'delete',
  path: '/v1/generations/{id}/outputs',
  auth: 'generations',
  problems: ['generation_not_found', 'not_terminal', 'malformed_url'],
  describe: () => ({
    operationId: 'deleteOutputs',
    summary: 'Delete the outputs of a generation',
    description:
      'All links to them stop working at once and `delivery` becomes `expired`; the files are removed soon after. The generation ' +
      'stays readable, and its credits stay as they are. Repeating it changes nothing.',
    tags: ['Generations'],
    requestParams: { path: generationParams },
    responses: {
      '202': {
        description: 'Their links are dead; the files go soon.',
        headers: { Location: LOCATION, 'Watch-Token': WATCH_TOKEN },
        content: { 'application/json': { schema: generationSchema } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const id = call.params['id']!;
    const deleted = await deleteOutputs(ctx, { tenantId: call.tenantId, id });
    switch (deleted.outcome) {
      case 'deleting':
        return json(202, deleted.generation, {
          Location: generationPath(id),
          ...watchTokenHeader(ctx, call, deleted.generation),
        });
      case 'not_terminal':
        throw notTerminal();
      case 'not_found':
        throw generationNotFound();
    }
  },
};
