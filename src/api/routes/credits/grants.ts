import { z } from 'zod';
import { grantCredits } from '../../../services/grant-credits.ts';
import { REPLAYED } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import {
  json,
  type ApiContext,
  type Operation,
  type Reply,
  type TenantCall,
  type TenantRoute,
} from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { invalidRequest, parseBody, reasonText } from '../../validation.ts';
import { accountParams, DEFAULT_ACCOUNT, isAccountName } from './parts.ts';

const bodySchema = z.strictObject({
  credits: z.int().min(1).meta({ description: 'Whole credits, at least 1.', example: 1_000 }),
  reason: reasonText
    .default('granted by the API')
    .meta({ description: 'For the history of the account.', example: 'order A-1' }),
});

const grantSchema = z
  .object({
    id: z.string().meta({ description: 'Also the id of its entry.', example: 'grant_12' }),
    object: z.literal('grant').meta({ description: 'Always `grant`.' }),
    account: z.string().meta({ description: 'The account that got the credits.' }),
    credits: z.int().min(1).meta({ description: 'Whole credits.' }),
    reason: z.string().meta({ description: 'As sent.' }),
    created_at: z.iso
      .datetime({ precision: 3 })
      .meta({ description: 'When it was granted.', example: '2026-11-29T12:00:00.000Z' }),
  })
  .meta({ id: 'Grant' });

const PROBLEM_CODES: readonly ProblemCode[] = [
  'idempotency_key_missing',
  'idempotency_key_invalid',
  ...JSON_PROBLEMS,
  'invalid_request',
  'balance_too_large',
  'idempotency_key_reuse',
];

function describe(operationId: string, summary: string): Operation {
  return {
    operationId,
    summary,
    description:
      'Once for each Idempotency-Key of your tenant, whatever the account: send the same request again until you have the answer. ' +
      'An account begins with its first grant.',
    tags: ['Credits'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: bodySchema, example: { credits: 1_000, reason: 'order A-1' } },
      },
    },
    responses: {
      '201': {
        description: 'Granted. A replay of the same key gives the very same bytes.',
        headers: { 'Idempotent-Replayed': REPLAYED },
        content: { 'application/json': { schema: grantSchema } },
      },
    },
  };
}

async function grant(ctx: ApiContext, call: TenantCall, account: string): Promise<Reply> {
  const key = idempotencyKey(call.request);
  const { credits, reason } = parseBody(bodySchema, await readJsonObject(call.request));
  if (!isAccountName(account)) {
    const message =
      'In the path: use 1 to 128 letters, digits or . _ : @ | - and begin with a letter or digit.';
    throw invalidRequest([{ path: '/account', message }]);
  }
  const granted = await grantCredits(ctx, {
    tenantId: call.tenantId,
    account,
    credits,
    // The prefix keeps these keys apart from the references of other ways to grant.
    businessKey: `api:${key}`,
    reason,
    actor: call.actor,
  });
  switch (granted.outcome) {
    case 'granted':
    case 'duplicate': {
      const { transactionId, createdAt } = granted;
      return json(
        201,
        { id: `grant_${transactionId}`, object: 'grant', account, credits, reason, created_at: createdAt },
        granted.outcome === 'duplicate' ? { 'Idempotent-Replayed': 'true' } : {},
      );
    }
    case 'key_reuse':
      throw new Problem(
        'idempotency_key_reuse',
        'Use a new Idempotency-Key for another grant; this one stands for other credits, another reason or account.',
      );
    case 'too_large':
      throw new Problem(
        'balance_too_large',
        'Grant less: an account is never granted more than "max" credits in all.',
        { extensions: { max: Number.MAX_SAFE_INTEGER } },
      );
    case 'unknown_tenant':
      throw new Error('the tenant of a key is gone');
  }
}

export const createGrantRoute: TenantRoute = {
  method: 'post',
  path: '/v1/credits/grants',
  auth: 'credits:grant',
  problems: PROBLEM_CODES,
  describe: () => describe('createGrant', 'Grant credits to the default account'),
  handle: (ctx) => (call) => grant(ctx, call, DEFAULT_ACCOUNT),
};

export const createAccountGrantRoute: TenantRoute = {
  ...createGrantRoute,
  path: '/v1/accounts/{account}/grants',
  problems: [...PROBLEM_CODES, 'malformed_url'],
  describe: () => ({
    ...describe('createAccountGrant', 'Grant credits to an account'),
    requestParams: { path: accountParams, header: idempotencyKeyHeader },
  }),
  handle: (ctx) => (call) => grant(ctx, call, call.params['account']!),
};
