import { z } from 'zod';
import { webhookEndpointSchema, webhookTypesSchema } from '../../../domain/webhook-view.ts';
import { changeWebhookEndpoint, deleteWebhookEndpoint } from '../../../services/change-webhook-endpoint.ts';
import { getWebhookEndpoint, listWebhookEndpoints } from '../../../services/read-webhook-endpoints.ts';
import { pageSchema } from '../../paging.ts';
import { json, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import {
  descriptionSchema,
  endOn4xxSchema,
  endpointNotFound,
  endpointParams,
  urlNotAllowed,
  urlSchema,
} from './parts.ts';

const content = { 'application/json': { schema: webhookEndpointSchema } };

const changeSchema = z
  .strictObject({
    url: urlSchema,
    types: webhookTypesSchema,
    description: descriptionSchema,
    end_on_4xx: endOn4xxSchema,
    enabled: z.boolean().meta({
      description: 'false = what happens is held; true = begin afresh. What was held can be redelivered.',
    }),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Name at least one field to change.')
  .meta({ minProperties: 1 });

export const listWebhookEndpointsRoute: TenantRoute = {
  method: 'get',
  path: '/v1/webhook-endpoints',
  auth: 'webhooks',
  problems: [],
  describe: () => ({
    operationId: 'listWebhookEndpoints',
    summary: 'List webhook endpoints',
    description: 'All of them on one page, newest first.',
    tags: ['Webhooks'],
    responses: {
      '200': {
        description: 'All endpoints.',
        content: { 'application/json': { schema: pageSchema(webhookEndpointSchema) } },
      },
    },
  }),
  handle: (ctx) => async (call) =>
    json(200, { data: await listWebhookEndpoints(ctx, call.tenantId), has_more: false, next_cursor: null }),
};

export const getWebhookEndpointRoute: TenantRoute = {
  method: 'get',
  path: '/v1/webhook-endpoints/{endpoint}',
  auth: 'webhooks',
  problems: ['webhook_endpoint_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getWebhookEndpoint',
    summary: 'Read a webhook endpoint',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    responses: { '200': { description: 'The endpoint.', content } },
  }),
  handle: (ctx) => async (call) => {
    const endpoint = await getWebhookEndpoint(ctx, { tenantId: call.tenantId, id: call.params['endpoint']! });
    if (endpoint === null) throw endpointNotFound();
    return json(200, endpoint);
  },
};

export const changeWebhookEndpointRoute: TenantRoute = {
  method: 'patch',
  path: '/v1/webhook-endpoints/{endpoint}',
  auth: 'webhooks',
  problems: [...JSON_PROBLEMS, 'invalid_request', 'webhook_endpoint_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'changeWebhookEndpoint',
    summary: 'Change, disable or enable a webhook endpoint',
    description: 'Only what is sent changes; the secret stays.',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: changeSchema, example: { enabled: true } } },
    },
    responses: { '200': { description: 'The endpoint as it is now.', content } },
  }),
  handle: (ctx) => async (call) => {
    const { end_on_4xx: endOn4xx, ...change } = parseBody(changeSchema, await readJsonObject(call.request));
    const id = call.params['endpoint']!;
    const result = await changeWebhookEndpoint(ctx, { tenantId: call.tenantId, id, ...change, endOn4xx });
    switch (result.outcome) {
      case 'changed':
        return json(200, result.endpoint);
      case 'not_found':
        throw endpointNotFound();
      case 'url_not_allowed':
        throw urlNotAllowed();
    }
  },
};

const deletedSchema = z.object({
  id: z.string().meta({ description: 'The id that it had.' }),
  object: z.literal('webhook_endpoint').meta({ description: 'Always `webhook_endpoint`.' }),
  deleted: z.literal(true).meta({ description: 'Always true.' }),
});

export const deleteWebhookEndpointRoute: TenantRoute = {
  method: 'delete',
  path: '/v1/webhook-endpoints/{endpoint}',
  auth: 'webhooks',
  problems: ['webhook_endpoint_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint',
    description: 'Nothing more is sent there. Its deliveries stay readable; those that wait are cancelled.',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    responses: {
      '200': { description: 'Deleted.', content: { 'application/json': { schema: deletedSchema } } },
    },
  }),
  handle: (ctx) => async (call) => {
    const id = call.params['endpoint']!;
    if (!(await deleteWebhookEndpoint(ctx, { tenantId: call.tenantId, id }))) throw endpointNotFound();
    return json(200, { id, object: 'webhook_endpoint', deleted: true });
  },
};
