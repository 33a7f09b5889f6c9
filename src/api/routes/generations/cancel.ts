import { generationPath, generationSchema } from '../../../domain/generation-view.ts';
import { cancelGeneration } from '../../../services/cancel-generation.ts';
import { LOCATION, RETRY_AFTER, WATCH_TOKEN } from '../../headers.ts';
import { limitProblem } from '../../limits.ts';
import { Problem } from '../../problems.ts';
import { json, type Operation, type TenantRoute } from '../../route.ts';
import { watchTokenHeader } from '../../watch.ts';
import { generationNotFound, generationParams, retryAfter } from './parts.ts';

const content = { 'application/json': { schema: generationSchema } };

function describe(operationId: string, summary: string): Operation {
  return {
    operationId,
    summary,
    description:
      'Before any provider can have the job it is cancelled at once and all credits are released (200). After that the provider is ' +
      'asked, and its answer decides (202): see `cancellation.outcome`.',
    tags: ['Generations'],
    requestParams: { path: generationParams },
    responses: {
      '200': {
        description: 'Cancelled; the credits are released.',
        headers: { 'Watch-Token': WATCH_TOKEN },
        content,
      },
      '202': {
        description: 'The wish is recorded; poll for the outcome.',
        headers: { Location: LOCATION, 'Retry-After': RETRY_AFTER, 'Watch-Token': WATCH_TOKEN },
        content,
      },
    },
  };
}

const handle: TenantRoute['handle'] = (ctx) => async (call) => {
  const id = call.params['id']!;
  const cancel = await cancelGeneration(ctx, { tenantId: call.tenantId, id });
  switch (cancel.outcome) {
    case 'cancelled':
      return json(200, cancel.generation, watchTokenHeader(ctx, call, cancel.generation));
    case 'requested':
      return json(202, cancel.generation, {
        Location: generationPath(id),
        ...retryAfter(cancel.generation),
        ...watchTokenHeader(ctx, call, cancel.generation),
      });
    case 'already_terminal':
      throw new Problem('already_terminal', 'Nothing to cancel: read the generation for its final state.');
    case 'not_found':
      throw generationNotFound();
    case 'limit_reached':
      throw limitProblem(cancel);
  }
};

export const cancelGenerationRoute: TenantRoute = {
  method: 'post',
  path: '/v1/generations/{id}/cancel',
  auth: 'generations',
  problems: ['generation_not_found', 'already_terminal', 'daily_cancels_reached', 'malformed_url'],
  describe: () => describe('cancelGeneration', 'Cancel a generation'),
  handle,
};

export const deleteGenerationRoute: TenantRoute = {
  ...cancelGenerationRoute,
  method: 'delete',
  path: '/v1/generations/{id}',
  describe: () => describe('deleteGeneration', 'Cancel a generation (same as POST …/cancel)'),
};
