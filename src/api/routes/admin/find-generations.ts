import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { STAGES, STATES, type Stage } from '../../../domain/generation.ts';
import { GENERATION_ID, TENANT_ID } from '../../../domain/ids.ts';
import { listedGenerationSchema } from '../../../domain/operated-generation.ts';
import { SUBMISSION_ID } from '../../../domain/submission-id.ts';
import { anyText } from '../../../domain/text-schema.ts';
import { findGenerations } from '../../../services/find-generations.ts';
import { operatedLinks } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { parseQuery, timeText } from '../../validation.ts';
import { flag, noSuchTenant } from './parts.ts';

const name = (what: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, `Use the name of a ${what}.`)
    .optional();

const querySchema = z.strictObject({
  state: z.enum(STATES).optional().meta({ description: 'Only those in this state.' }),
  stage: z.enum(STAGES).optional().meta({ description: 'Only those at this stage.' }),
  needs_operator: flag.optional().meta({ description: '`true` = only those that wait for a person.' }),
  overdue: flag.optional().meta({
    description: '`true` = only those whose run should have written more than a minute ago.',
  }),
  tenant: z
    .string()
    .regex(TENANT_ID, 'Use the id of a tenant.')
    .optional()
    .meta({ description: 'Only those of this tenant.' }),
  account: accountSchema.optional().meta({ description: 'Only those of accounts of this name.' }),
  provider: name('provider').meta({ description: 'Submitted there last, or to be submitted there.' }),
  model: name('model').meta({ description: 'Only those of this model.' }),
  job_id: anyText(500)
    .refine((text) => text !== '', 'Use the id of a job.')
    .meta({ minLength: 1, maxLength: 500 })
    .optional()
    .meta({ description: 'The one with this job of a provider, also an orphan job.' }),
  submission_id: z
    .string()
    .regex(SUBMISSION_ID, 'Use the id of a submission.')
    .optional()
    .meta({ description: 'The one of this submission.' }),
  created_after: timeText.optional().meta({
    description: 'Only those created after this time.',
    example: '2026-11-29T12:00:00Z',
  }),
  ...pageQuery(GENERATION_ID),
});

/** The stages that are asked for, none = any; null when no generation can be at them: two parameters that exclude each other. */
function stagesOf({ needs_operator: parked, stage }: z.infer<typeof querySchema>): Stage[] | null {
  if (parked !== 'true') return stage === undefined ? [] : [stage];
  return stage === undefined || stage === 'needs_operator' ? ['needs_operator'] : null;
}

/** Generations of all tenants. */
export const findGenerationsRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/generations',
  auth: 'operator',
  problems: ['invalid_query', 'invalid_cursor', 'tenant_not_found'],
  describe: () => ({
    operationId: 'findGenerations',
    summary: 'Find generations of all tenants',
    description:
      'Newest first. One call looks at the newest 20000 rows that an index leaves; if more are to be looked at, `has_more` is true ' +
      'though the page is short or empty: go on with `next_cursor`.',
    tags: ['Operators'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(listedGenerationSchema) } },
        links: operatedLinks('$response.body#/data/0/id'),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const stages = stagesOf(query);
    if (stages === null) return json(200, { data: [], has_more: false, next_cursor: null });
    const page = await findGenerations(ctx, {
      states: query.state === undefined ? [] : [query.state],
      stages,
      overdue: query.overdue === 'true',
      tenantId: query.tenant,
      account: query.account,
      provider: query.provider,
      model: query.model,
      jobId: query.job_id,
      submissionId: query.submission_id,
      createdAfter: query.created_after === undefined ? undefined : new Date(query.created_after),
      ...pageOf(query, GENERATION_ID),
    });
    if (page === null) throw noSuchTenant();
    return json(200, page);
  },
};
