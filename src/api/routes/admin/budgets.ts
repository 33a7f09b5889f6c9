import { z } from 'zod';
import { listProviderBudgets } from '../../../services/list-provider-budgets.ts';
import { setProviderBudget } from '../../../services/set-provider-budget.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import { reason } from './parts.ts';

const decimal = z.string().regex(/^\d{1,12}(\.\d{1,10})?$/, 'Use a decimal number as text, like "25.50".');
const unit = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, 'Use the unit of the provider’s costs, like USD.')
  .meta({ description: 'Unit of the provider’s costs; only costs in this unit count.', example: 'USD' });

const budgetSchema = z
  .object({
    object: z.literal('provider_budget').meta({ description: 'Always `provider_budget`.' }),
    provider: z.string().meta({ description: 'Name of the provider.' }),
    amount_per_day: z
      .string()
      .nullable()
      .meta({ description: 'Decimal number, for a UTC day; null = no budget.', example: '25.5' }),
    unit: z.string().nullable().meta({ description: 'Unit of the amounts.' }),
    spent_today: z
      .string()
      .nullable()
      .meta({ description: 'Final costs and estimates of what was sent today.', example: '3.25' }),
    reached_at: z.string().nullable().meta({
      description: 'When new submits were stopped today; null = they are not.',
      format: 'date-time',
    }),
  })
  .meta({ id: 'ProviderBudget' });

const perDay = { description: 'For a UTC day; null lifts the budget.', example: '25.50' };

const bodySchema = z
  .strictObject({
    amount_per_day: decimal.nullable().meta(perDay),
    unit: unit.nullable().default(null),
    reason,
  })
  .refine(({ amount_per_day: amount, unit }) => amount === null || unit !== null, {
    path: ['unit'],
    message: 'Name the unit of the amount.',
  });

/** The same in two shapes, which tell what the check above does; checked by it as one, for clear messages. */
const shownBody = z.union([
  z.strictObject({ amount_per_day: decimal.meta(perDay), unit, reason }),
  z.strictObject({
    amount_per_day: z.null().meta({ description: perDay.description }),
    unit: unit.nullable().optional(),
    reason,
  }),
]);

type Budget = Awaited<ReturnType<typeof listProviderBudgets>>[number];

function view(budget: Budget): z.infer<typeof budgetSchema> {
  return {
    object: 'provider_budget',
    provider: budget.provider,
    amount_per_day: budget.amountPerDay,
    unit: budget.unit,
    spent_today: budget.spentToday,
    reached_at: budget.reachedAt?.toISOString() ?? null,
  };
}

export const listBudgetsRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/provider-budgets',
  auth: 'operator',
  problems: [],
  describe: () => ({
    operationId: 'listProviderBudgets',
    summary: 'List the daily budgets of providers',
    description:
      'Only providers that have one. At the budget no new job is submitted there until midnight UTC.',
    tags: ['Operators'],
    responses: {
      '200': {
        description: 'All budgets.',
        content: {
          'application/json': {
            schema: z.object({
              data: z.array(budgetSchema).meta({ description: 'By name of the provider.' }),
            }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async () => json(200, { data: (await listProviderBudgets(ctx)).map(view) }),
};

export const setBudgetRoute: OperatorRoute = {
  method: 'put',
  path: '/admin/v1/providers/{provider}/budget',
  auth: 'operator',
  problems: [...JSON_PROBLEMS, 'invalid_request', 'provider_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'setProviderBudget',
    summary: 'Set the daily budget of a provider',
    description:
      'What may be spent there in a UTC day. A job that would pass it is not submitted; it goes to another provider of its model or ' +
      'waits. What runs goes on. Setting it opens the provider again if the new amount is not reached.',
    tags: ['Operators'],
    requestParams: {
      path: z.object({
        provider: z
          .string()
          .regex(/^[a-z][a-z0-9_-]{0,63}$/)
          .meta({ description: 'Name of the provider.', example: 'infro' }),
      }),
    },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: shownBody,
          example: { amount_per_day: '25.50', unit: 'USD', reason: 'ticket 4711' },
        },
      },
    },
    responses: {
      '200': { description: 'As it stands now.', content: { 'application/json': { schema: budgetSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const provider = call.params['provider']!;
    const { amount_per_day: amount, unit } = body;
    const change = await setProviderBudget(ctx, {
      provider,
      perDay: amount === null || unit === null ? null : { amount, unit },
      reason: body.reason,
      actor: call.actor,
    });
    switch (change.outcome) {
      case 'set':
        return json(200, view(change.budget));
      case 'lifted':
        return json(200, {
          object: 'provider_budget',
          provider,
          amount_per_day: null,
          unit: null,
          spent_today: null,
          reached_at: null,
        });
      case 'unknown_provider':
        throw new Problem('provider_not_found', 'Use the name of a provider that GET /v1/models shows.');
    }
  },
};
