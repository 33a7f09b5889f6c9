import { shownGenerationSchema } from '../../../domain/operated-generation.ts';
import { showGeneration } from '../../../services/show-generation.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { generationParams } from '../generations/parts.ts';
import { noSuchGeneration } from './parts.ts';

/** All that the rows tell of one generation, and what to do next. */
export const showGenerationRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/generations/{id}',
  auth: 'operator',
  problems: ['generation_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'showGeneration',
    summary: 'Show a generation to operators',
    description:
      'Row, submissions with costs and problems, callbacks without bodies, outputs, webhook deliveries, what operators did, events; ' +
      'and in `next` what to do now. Never its content.',
    tags: ['Operators'],
    requestParams: { path: generationParams },
    responses: {
      '200': {
        description: 'All of it.',
        content: { 'application/json': { schema: shownGenerationSchema } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const { db, runUrl, providers } = ctx;
    const capabilitiesOf = (name: string) => providers.get(name)?.provider.capabilities ?? null;
    const shown = await showGeneration({ db, runUrl, capabilitiesOf }, call.params['id']!);
    if (shown === null) throw noSuchGeneration();
    return json(200, shown);
  },
};
