import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { readCredits } from '../../../services/read-credits.ts';
import { Problem } from '../../problems.ts';
import { json, type ApiContext, type Operation, type Reply, type TenantRoute } from '../../route.ts';

const amount = z.int().min(0);
const creditsSchema = z
  .object({
    object: z.literal('credits'),
    account: z.string(),
    available: amount.meta({ description: 'Free to spend: granted, less spent, less held.' }),
    held: amount.meta({ description: 'Set aside for generations that run.' }),
    spent: amount.meta({ description: 'Captured for generations that succeeded, less refunds.' }),
  })
  .meta({ id: 'Credits' });

function describe(operationId: string, summary: string): Operation {
  return {
    operationId,
    summary,
    description: 'Whole credits.',
    tags: ['Credits'],
    responses: {
      '200': { description: 'The balance.', content: { 'application/json': { schema: creditsSchema } } },
    },
  };
}

async function balance(ctx: ApiContext, tenantId: string, account: string): Promise<Reply> {
  const credits = accountSchema.safeParse(account).success
    ? await readCredits(ctx, { tenantId, account })
    : null;
  if (credits === null) {
    throw new Problem('account_not_found', 'Check the name; an account begins with its first grant.');
  }
  const { available, held, spent } = credits;
  return json(200, { object: 'credits', account, available, held, spent });
}

export const getCreditsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/credits',
  auth: 'generations',
  problems: ['account_not_found'],
  describe: () => describe('getCredits', 'Read the balance of the default account'),
  handle: (ctx) => (call) => balance(ctx, call.tenantId, 'default'),
};

export const getAccountCreditsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/accounts/{account}/credits',
  auth: 'generations',
  problems: ['account_not_found', 'malformed_url'],
  describe: () => ({
    ...describe('getAccountCredits', 'Read the balance of an account'),
    requestParams: { path: z.object({ account: accountSchema }) },
  }),
  handle: (ctx) => (call) => balance(ctx, call.tenantId, call.params['account']!),
};
