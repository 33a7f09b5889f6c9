import { z } from 'zod';
import { TENANT_ID } from '../../../domain/ids.ts';
import { oneLine } from '../../../domain/text-schema.ts';
import { listTenants, makeTenant } from '../../../services/manage-tenants.ts';
import { REPLAYED } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { linksTo } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody, parseQuery } from '../../validation.ts';
import { keyReuse, reason } from './parts.ts';

const tenantSchema = z
  .object({
    object: z.literal('tenant').meta({ description: 'Always `tenant`.' }),
    id: z.string().meta({ description: 'Never changes.', example: 'ten_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    name: z.string().meta({ description: 'For operators.' }),
    retention_hours: z
      .int()
      .nullable()
      .meta({ description: 'How long its files are kept; null = as the settings say.' }),
    created_at: z.iso.datetime({ precision: 3 }).meta({ description: 'When it was made.' }),
  })
  .meta({ id: 'Tenant' });

const bodySchema = z.strictObject({
  name: oneLine(200).meta({
    description: 'For operators.',
    example: 'Acme Video',
    minLength: 1,
    maxLength: 200,
  }),
  reason,
});

type Row = Awaited<ReturnType<typeof listTenants>>['rows'][number];

function view({ id, name, retentionHours, createdAt }: Row): z.infer<typeof tenantSchema> {
  return {
    object: 'tenant',
    id,
    name,
    retention_hours: retentionHours,
    created_at: createdAt.toISOString(),
  };
}

const querySchema = z.strictObject(pageQuery(TENANT_ID));

export const listTenantsRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/tenants',
  auth: 'operator',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listTenants',
    summary: 'List tenants',
    description: 'Newest first.',
    tags: ['Operators'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(tenantSchema) } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const { rows, next } = await listTenants(ctx, pageOf(query, TENANT_ID));
    return json(200, { data: rows.map(view), has_more: next !== null, next_cursor: next });
  },
};

export const createTenantRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/tenants',
  auth: 'operator',
  problems: [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    ...JSON_PROBLEMS,
    'invalid_request',
    'idempotency_key_reuse',
  ],
  describe: () => ({
    operationId: 'createTenant',
    summary: 'Create a tenant',
    description: 'With its `default` account, which has no credits yet. It needs a key: POST /admin/v1/keys.',
    tags: ['Operators'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: bodySchema, example: { name: 'Acme Video', reason: 'ticket 4711' } },
      },
    },
    responses: {
      '201': {
        description: 'Created.',
        headers: { 'Idempotent-Replayed': REPLAYED },
        content: { 'application/json': { schema: tenantSchema } },
        links: linksTo({ listLimits: 'id', setLimit: 'id' }),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const key = idempotencyKey(call.request);
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const made = await makeTenant(ctx, { ...body, idempotencyKey: key, actor: call.actor });
    if (made.outcome === 'key_reuse') throw keyReuse('tenant');
    return json(201, view(made.tenant), made.outcome === 'replayed' ? { 'Idempotent-Replayed': 'true' } : {});
  },
};
