import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { STAGES, STATES } from '../../../domain/generation.ts';
import { GENERATION_ID, TENANT_ID } from '../../../domain/ids.ts';
import { listedGenerationSchema } from '../../../domain/operated-generation.ts';
import { SUBMISSION_ID } from '../../../domain/submission-id.ts';
import { findGenerations } from '../../../services/find-generations.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { flag, noSuchTenant, storableTime } from './parts.ts';

const name = (what: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, `Use the name of a ${what}.`)
    .optional();

const querySchema = z
  .strictObject({
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
    job_id: z
      .string()
      .min(1)
      .max(500)
      .refine((text) => !text.includes('\0'), 'Use the id of a job.')
      .optional()
      .meta({ description: 'The one with this job of a provider, also an orphan job.' }),
    submission_id: z
      .string()
      .regex(SUBMISSION_ID, 'Use the id of a submission.')
      .optional()
      .meta({ description: 'The one of this submission.' }),
    created_after: storableTime.optional().meta({
      description: 'Only those created after this time.',
      example: '2026-11-29T12:00:00Z',
    }),
    ...pageQuery,
  })
  .refine(({ needs_operator: parked, stage }) => parked !== 'true' || stage === undefined, {
    path: ['stage'],
    message: 'Leave it out: needs_operator=true is a stage.',
  });

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
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const page = await findGenerations(ctx, {
      states: query.state === undefined ? [] : [query.state],
      stages:
        query.needs_operator === 'true' ? ['needs_operator'] : query.stage === undefined ? [] : [query.stage],
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
