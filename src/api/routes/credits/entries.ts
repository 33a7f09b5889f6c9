import { z } from 'zod';
import { ENTRY_ID, listEntries, type EntryPage } from '../../../services/list-entries.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import {
  json,
  type ApiContext,
  type Operation,
  type Reply,
  type TenantCall,
  type TenantRoute,
} from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { accountNotFound, accountParams, DEFAULT_ACCOUNT, isAccountName } from './parts.ts';

const TYPES = ['grant', 'hold', 'capture', 'release', 'refund'] as const;
/** Of these the reason says something to the tenant; that of a capture is for operators. */
const REASON_SHOWN: ReadonlySet<string> = new Set(['grant', 'release', 'refund']);

const change = z.int();
const entrySchema = z
  .object({
    id: z.string().meta({ description: 'Never changes.', example: 'grant_12' }),
    object: z.literal('entry').meta({ description: 'Always `entry`.' }),
    type: z.enum(TYPES).meta({
      description:
        '`hold` = set aside when a generation was created, `capture` = spent for what was stored, `release` = given back because it ' +
        'was not needed, `refund` = given back after a capture.',
    }),
    available: change.meta({
      description: 'What it added to the available credits; negative = took away.',
      example: -100,
    }),
    held: change.meta({
      description: 'What it added to the held credits; negative = took away.',
      example: 100,
    }),
    generation_id: z.string().nullable().meta({ description: 'The generation; null for a grant.' }),
    reason: z.string().nullable().meta({
      description:
        'What a grant or refund was given for; for a release the state in which the generation ended.',
    }),
    created_at: z.iso
      .datetime({ precision: 3 })
      .meta({ description: 'When it happened.', example: '2026-11-29T12:00:00.000Z' }),
  })
  .meta({ id: 'Entry' });

const querySchema = z.strictObject(pageQuery(ENTRY_ID));

function view(entry: EntryPage['entries'][number]): z.infer<typeof entrySchema> {
  return {
    id: entry.id,
    object: 'entry',
    type: entry.type,
    available: entry.available,
    held: entry.held,
    generation_id: entry.generationId,
    reason: REASON_SHOWN.has(entry.type) ? entry.reason : null,
    created_at: entry.at,
  };
}

function describe(operationId: string, summary: string): Operation {
  return {
    operationId,
    summary,
    description:
      'Newest first. The sums of `available` and `held` over all entries are the balance. Pages stay stable while new entries come in.',
    tags: ['Credits'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(entrySchema) } },
      },
    },
  };
}

async function history(ctx: ApiContext, call: TenantCall, account: string): Promise<Reply> {
  const page = pageOf(parseQuery(querySchema, call.query), ENTRY_ID);
  const { tenantId } = call;
  const found = isAccountName(account) ? await listEntries(ctx, { tenantId, account, ...page }) : null;
  if (found === null) throw accountNotFound();
  return json(200, {
    data: found.entries.map(view),
    has_more: found.nextCursor !== null,
    next_cursor: found.nextCursor,
  });
}

export const listEntriesRoute: TenantRoute = {
  method: 'get',
  path: '/v1/credits/entries',
  auth: 'generations',
  problems: ['account_not_found', 'invalid_query', 'invalid_cursor'],
  describe: () => describe('listEntries', 'List what happened to the credits of the default account'),
  handle: (ctx) => (call) => history(ctx, call, DEFAULT_ACCOUNT),
};

export const listAccountEntriesRoute: TenantRoute = {
  ...listEntriesRoute,
  path: '/v1/accounts/{account}/entries',
  problems: [...listEntriesRoute.problems, 'malformed_url'],
  describe: () => ({
    ...describe('listAccountEntries', 'List what happened to the credits of an account'),
    requestParams: { path: accountParams, query: querySchema },
  }),
  handle: (ctx) => (call) => history(ctx, call, call.params['account']!),
};
