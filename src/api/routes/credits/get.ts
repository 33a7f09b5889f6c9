import { z } from 'zod';
import { readCredits } from '../../../services/read-credits.ts';
import { json, type ApiContext, type Operation, type Reply, type TenantRoute } from '../../route.ts';
import { accountNotFound, accountParams, DEFAULT_ACCOUNT, isAccountName } from './parts.ts';

const amount = z.int().min(0);
const creditsSchema = z
  .object({
    object: z.literal('credits').meta({ description: 'Always `credits`.' }),
    account: z.string().meta({ description: 'Name of the account.' }),
    available: amount.meta({ description: 'Free to spend: granted, less spent, less held.' }),
    held: amount.meta({ description: 'Set aside for generations that run.' }),
    spent: amount.meta({ description: 'Captured for generations that succeeded, less refunds.' }),
    granted: amount.meta({ description: 'Granted in all; always available + held + spent.' }),
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
  const credits = isAccountName(account) ? await readCredits(ctx, { tenantId, account }) : null;
  if (credits === null) throw accountNotFound();
  const { available, held, spent, granted } = credits;
  return json(200, { object: 'credits', account, available, held, spent, granted });
}

export const getCreditsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/credits',
  auth: 'generations',
  problems: ['account_not_found'],
  describe: () => describe('getCredits', 'Read the balance of the default account'),
  handle: (ctx) => (call) => balance(ctx, call.tenantId, DEFAULT_ACCOUNT),
};

export const getAccountCreditsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/accounts/{account}/credits',
  auth: 'generations',
  problems: ['account_not_found', 'malformed_url'],
  describe: () => ({
    ...describe('getAccountCredits', 'Read the balance of an account'),
    requestParams: { path: accountParams },
  }),
  handle: (ctx) => (call) => balance(ctx, call.tenantId, call.params['account']!),
};
