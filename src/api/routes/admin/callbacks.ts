import { z } from 'zod';
import { GENERATION_ID } from '../../../domain/ids.ts';
import { callbackSchema } from '../../../domain/operated-generation.ts';
import { SUBMISSION_ID } from '../../../domain/submission-id.ts';
import { CALLBACK_ID, listCallbacks } from '../../../services/list-callbacks.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { flag } from './parts.ts';

const querySchema = z.strictObject({
  provider: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'Use the name of a provider.')
    .optional()
    .meta({ description: 'Only those from this provider.' }),
  submission: z
    .string()
    .regex(SUBMISSION_ID, 'Use the id of a submission.')
    .optional()
    .meta({ description: 'Only those of this submission.' }),
  generation: z
    .string()
    .regex(GENERATION_ID, 'Use the id of a generation.')
    .optional()
    .meta({ description: 'Only those of its submissions.' }),
  unmatched: flag.optional().meta({
    description: '`true` = only those that name a job which we do not know (yet).',
  }),
  unseen: flag.optional().meta({ description: '`true` = only those that no run has taken yet.' }),
  ...pageQuery(CALLBACK_ID),
});

/** The inbox of callbacks. */
export const listCallbacksRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/callbacks',
  auth: 'operator',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listCallbacks',
    summary: 'List callbacks of providers',
    description:
      'The inbox, newest first, without bodies: "darkroom inbox show --body" prints one on the machine of an operator.',
    tags: ['Operators'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(callbackSchema) } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const page = await listCallbacks(ctx, {
      provider: query.provider,
      submissionId: query.submission,
      generationId: query.generation,
      unmatched: query.unmatched === 'true',
      unseen: query.unseen === 'true',
      ...pageOf(query, CALLBACK_ID),
    });
    return json(200, page);
  },
};
