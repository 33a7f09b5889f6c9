import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { listUsageLimits } from '../../../services/list-usage-limits.ts';
import { setUsageLimit } from '../../../services/set-usage-limit.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import { noSuchTenant, reason, tenantParams } from './parts.ts';

const MAX_COUNT = 1_000_000_000;
const count = z.int().min(0).max(MAX_COUNT).nullable();

const amounts = {
  generations_in_flight: count.meta({
    description: 'Generations that have not ended; null = no limit.',
    example: 10,
  }),
  credits_per_day: z.int().min(0).nullable().meta({
    description: 'Credits of the generations created in a UTC day, held or charged; null = no limit.',
    example: 5_000,
  }),
  requests_per_minute: z.int().min(1).max(MAX_COUNT).nullable().meta({
    description:
      'For the scope `tenant` every call with a key of it, for accounts every new generation; null = no limit.',
    example: 600,
  }),
  cancels_per_day: count.meta({
    description: 'Cancels in a UTC day of generations that a provider has begun; null = no limit.',
    example: 20,
  }),
};
const whichScope = {
  description:
    '`tenant` = all of it together, `each_account` = every account that has no limits of its own, `account` = this one.',
};
const scope = z.enum(['tenant', 'each_account', 'account']).meta(whichScope);

const limitSchema = z
  .object({
    object: z.literal('limit').meta({ description: 'Always `limit`.' }),
    scope,
    account: z.string().nullable().meta({ description: 'For the scope `account`: its name.' }),
    ...amounts,
  })
  .meta({ id: 'Limit' });

const named = accountSchema.meta({ description: 'For the scope `account` only: its name.' });

const bodySchema = z
  .strictObject({
    scope,
    account: named.optional(),
    ...amounts,
    reason,
  })
  .refine(({ scope, account }) => (scope === 'account') === (account !== undefined), {
    path: ['account'],
    message: 'Name the account for the scope "account", and only for it.',
  });

/** The same in two shapes, which tell what the check above does; checked by it as one, for clear messages. */
const shownBody = z.union([
  z.strictObject({ scope: scope.exclude(['account']).meta(whichScope), ...amounts, reason }),
  z.strictObject({ scope: z.literal('account').meta(whichScope), account: named, ...amounts, reason }),
]);

type Limit = NonNullable<Awaited<ReturnType<typeof listUsageLimits>>>[number];

function view(limit: Limit): z.infer<typeof limitSchema> {
  return {
    object: 'limit',
    scope: limit.scope,
    account: limit.account,
    generations_in_flight: limit.generationsInFlight,
    credits_per_day: limit.creditsPerDay,
    requests_per_minute: limit.requestsPerMinute,
    cancels_per_day: limit.cancelsPerDay,
  };
}

export const listLimitsRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/tenants/{id}/limits',
  auth: 'operator',
  problems: ['tenant_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'listLimits',
    summary: 'List the limits of a tenant',
    description:
      'The limits of the tenant as a whole first, then those of its accounts. None is set at first.',
    tags: ['Operators'],
    requestParams: { path: tenantParams },
    responses: {
      '200': {
        description: 'All limits.',
        content: {
          'application/json': {
            schema: z.object({ data: z.array(limitSchema).meta({ description: 'One for each scope.' }) }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const limits = await listUsageLimits(ctx, call.params['id']!);
    if (limits === null) throw noSuchTenant();
    return json(200, { data: limits.map(view) });
  },
};

export const setLimitRoute: OperatorRoute = {
  method: 'put',
  path: '/admin/v1/tenants/{id}/limits',
  auth: 'operator',
  problems: [...JSON_PROBLEMS, 'invalid_request', 'tenant_not_found', 'unknown_account', 'malformed_url'],
  describe: () => ({
    operationId: 'setLimit',
    summary: 'Set the limits of a tenant or of its accounts',
    description:
      'Replaces all four limits of one scope, at once, for all that comes; what runs goes on. Accounts with limits of their own do not ' +
      'get those of `each_account` beside them; the ones of `tenant` hold for all.',
    tags: ['Operators'],
    requestParams: { path: tenantParams },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: shownBody,
          example: {
            scope: 'tenant',
            generations_in_flight: 10,
            credits_per_day: null,
            requests_per_minute: 600,
            cancels_per_day: null,
            reason: 'ticket 4711',
          },
        },
      },
    },
    responses: {
      '200': { description: 'As it stands now.', content: { 'application/json': { schema: limitSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const outcome = await setUsageLimit(ctx, {
      tenantId: call.params['id']!,
      limit: {
        scope: body.scope,
        account: body.account ?? null,
        generationsInFlight: body.generations_in_flight,
        creditsPerDay: body.credits_per_day,
        requestsPerMinute: body.requests_per_minute,
        cancelsPerDay: body.cancels_per_day,
      },
      reason: body.reason,
      actor: call.actor,
    });
    switch (outcome.outcome) {
      case 'set':
        return json(200, view(outcome.limit));
      case 'unknown_tenant':
        throw noSuchTenant();
      case 'unknown_account':
        throw new Problem('unknown_account', 'Check the name; an account begins with its first grant.');
    }
  },
};
