import { z } from 'zod';
import { API_KEY_ID, SCOPES } from '../../../domain/api-key.ts';
import { TENANT_ID } from '../../../domain/ids.ts';
import { anyText } from '../../../domain/text-schema.ts';
import { dropKey, listKeys, makeKey } from '../../../services/manage-keys.ts';
import { REPLAYED } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { linksTo } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody, parseQuery, reasonText, timeText } from '../../validation.ts';
import { flag, keyReuse, noSuchTenant, reason } from './parts.ts';

const time = (description: string) => z.iso.datetime({ precision: 3 }).meta({ description });

const keySchema = z
  .object({
    object: z.literal('api_key').meta({ description: 'Always `api_key`.' }),
    id: z
      .string()
      .meta({ description: 'The part between `dk_` and the next `_`.', example: 'a8Kq02LmZx81TnVb' }),
    tenant: z.string().nullable().meta({ description: 'Its tenant; null = an operator’s.' }),
    scopes: z.array(z.enum(SCOPES)).meta({ description: 'What it may do.' }),
    label: z.string().meta({ description: 'Your own words.' }),
    created_at: time('When it was made.'),
    expires_at: time('Until when it works; null = until it is revoked.').nullable(),
    revoked_at: time('Since when it is refused.').nullable(),
    last_used_at: time('When it was used last; null = not known.').nullable(),
  })
  .meta({ id: 'ApiKey' });

const createdSchema = keySchema
  .extend({
    key: z.string().optional().meta({
      description:
        'The key itself, in this answer only; a replay has none: revoke it then, and make another.',
      example: 'dk_a8Kq02LmZx81TnVb_…',
    }),
  })
  .meta({ id: 'NewApiKey' });

const tenantId = z.string().regex(TENANT_ID, 'Use the id of a tenant.');
const whose = { description: 'Whose key it is; null = an operator’s.' };
const may = { description: 'What it may do.', example: ['generations'] };

const bodySchema = z
  .strictObject({
    tenant: tenantId.nullable().meta(whose),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).meta(may),
    label: anyText(200).default('').meta({ description: 'Your own words.' }),
    expires_at: timeText
      .nullable()
      .default(null)
      .meta({ description: 'Until when it works; null = for ever.' }),
    reason,
  })
  .refine(({ tenant, scopes }) => (tenant === null ? scopes.join() === 'admin' : !scopes.includes('admin')), {
    path: ['scopes'],
    message: 'A key of a tenant has other scopes than "admin"; one without a tenant has "admin" alone.',
  });

/** The same in two shapes, which tell what the check above does; checked by it as one, for clear messages. */
const shownBody = z.union([
  bodySchema.safeExtend({
    tenant: tenantId.meta(whose),
    scopes: z
      .array(z.enum(SCOPES).exclude(['admin']))
      .min(1)
      .max(SCOPES.length)
      .meta(may),
  }),
  bodySchema.safeExtend({
    tenant: z.null().meta(whose),
    scopes: z
      .array(z.literal('admin'))
      .length(1)
      .meta({ ...may, example: ['admin'] }),
  }),
]);

type Row = Awaited<ReturnType<typeof listKeys>>['rows'][number];

/** The casts hold because a CHECK constraint allows these scopes only. */
function view(row: Row): z.infer<typeof keySchema> {
  return {
    object: 'api_key',
    id: row.id,
    tenant: row.tenantId,
    scopes: row.scopes as z.infer<typeof keySchema>['scopes'],
    label: row.label,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt?.toISOString() ?? null,
    revoked_at: row.revokedAt?.toISOString() ?? null,
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}

const querySchema = z.strictObject({
  tenant: z
    .string()
    .regex(TENANT_ID, 'Use the id of a tenant.')
    .optional()
    .meta({ description: 'Only those of this tenant.' }),
  ...pageQuery(API_KEY_ID),
});

export const listKeysRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/keys',
  auth: 'operator',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listKeys',
    summary: 'List API keys',
    description: 'Newest first, revoked ones too; the keys themselves are stored nowhere.',
    tags: ['Operators'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(keySchema) } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const { rows, next } = await listKeys(ctx, { tenantId: query.tenant, ...pageOf(query, API_KEY_ID) });
    return json(200, { data: rows.map(view), has_more: next !== null, next_cursor: next });
  },
};

export const createKeyRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/keys',
  auth: 'operator',
  problems: [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    ...JSON_PROBLEMS,
    'invalid_request',
    'tenant_not_found',
    'idempotency_key_reuse',
  ],
  describe: () => ({
    operationId: 'createKey',
    summary: 'Create an API key',
    description: 'Of a tenant, or of an operator. It is shown in this answer only; its SHA-256 is stored.',
    tags: ['Operators'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: shownBody,
          example: {
            tenant: 'ten_06f1m4k2h8v7x9q3w5y1z0a2b4',
            scopes: ['generations'],
            label: 'production',
            reason: 'ticket 4711',
          },
        },
      },
    },
    responses: {
      '201': {
        description: 'Created.',
        headers: { 'Idempotent-Replayed': REPLAYED },
        content: { 'application/json': { schema: createdSchema } },
        links: linksTo({ revokeKey: 'id' }),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const idempotency = idempotencyKey(call.request);
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const made = await makeKey(ctx, {
      idempotencyKey: idempotency,
      tenantId: body.tenant,
      scopes: body.scopes,
      label: body.label,
      expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
      reason: body.reason,
      actor: call.actor,
    });
    switch (made.outcome) {
      case 'created':
        return json(201, { ...view(made.key), key: made.text }, { 'Cache-Control': 'no-store' });
      case 'replayed':
        return json(201, view(made.key), { 'Idempotent-Replayed': 'true' });
      case 'unknown_tenant':
        throw noSuchTenant();
      case 'key_reuse':
        throw keyReuse('API key');
    }
  },
};

const revokeQuery = z.strictObject({
  reason: reasonText.default('not given').meta({ description: 'Why; kept for ever.', example: 'leaked' }),
  own: flag.optional().meta({ description: '`true` = also the key that this very call is made with.' }),
});

export const revokeKeyRoute: OperatorRoute = {
  method: 'delete',
  path: '/admin/v1/keys/{id}',
  auth: 'operator',
  problems: ['invalid_query', 'api_key_not_found', 'own_api_key', 'malformed_url'],
  describe: () => ({
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    description: 'Refused from the next request on, for good. A repeat changes nothing.',
    tags: ['Operators'],
    requestParams: {
      path: z.object({
        id: z.string().regex(API_KEY_ID).meta({ description: 'Id of the key.', example: 'a8Kq02LmZx81TnVb' }),
      }),
      query: revokeQuery,
    },
    responses: {
      '200': { description: 'Revoked.', content: { 'application/json': { schema: keySchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(revokeQuery, call.query);
    const dropped = await dropKey(ctx, {
      id: call.params['id']!,
      own: query.own === 'true',
      reason: query.reason,
      actor: call.actor,
    });
    switch (dropped.outcome) {
      case 'revoked':
      case 'revoked_before':
        return json(200, view(dropped.key));
      case 'own_key':
        throw new Problem(
          'own_api_key',
          'This call is made with that key: use another one, or add own=true.',
        );
      case 'not_found':
        throw new Problem(
          'api_key_not_found',
          'Use the id of a key, the 16 characters between dk_ and the next _.',
        );
    }
  },
};
