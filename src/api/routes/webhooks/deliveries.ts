import { z } from 'zod';
import {
  DELIVERY_STATES,
  webhookDeliveryDetailSchema,
  webhookDeliverySchema,
} from '../../../domain/webhook-view.ts';
import { ENDPOINT_ID, GENERATION_ID } from '../../../domain/ids.ts';
import { getWebhookDelivery, listWebhookDeliveries } from '../../../services/read-webhook-deliveries.ts';
import { redeliverOne } from '../../../services/redeliver-webhooks.ts';
import { DELIVERY_ID } from '../../../services/webhook-views.ts';
import { linksTo } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { Problem } from '../../problems.ts';
import { json, type TenantRoute } from '../../route.ts';
import { parseQuery } from '../../validation.ts';
import { deliveryNotFound, deliveryParams, endpointDisabled } from './parts.ts';

const querySchema = z.strictObject({
  endpoint: z
    .string()
    .regex(ENDPOINT_ID, 'Use the id of an endpoint.')
    .optional()
    .meta({ description: 'Only those to this endpoint.' }),
  generation: z
    .string()
    .regex(GENERATION_ID, 'Use the id of a generation.')
    .optional()
    .meta({ description: 'Only those that tell of this generation.' }),
  state: z.enum(DELIVERY_STATES).optional().meta({ description: 'Only those in this state.' }),
  ...pageQuery(DELIVERY_ID),
});

const content = { 'application/json': { schema: webhookDeliveryDetailSchema } };

export const listWebhookDeliveriesRoute: TenantRoute = {
  method: 'get',
  path: '/v1/webhook-deliveries',
  auth: 'webhooks',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listWebhookDeliveries',
    summary: 'List webhook deliveries',
    description: 'Newest first. Kept for 30 days. Pages stay stable while new deliveries come in.',
    tags: ['Webhooks'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(webhookDeliverySchema) } },
        links: linksTo(
          { getWebhookDelivery: 'delivery', redeliverWebhook: 'delivery' },
          '$response.body#/data/0/id',
        ),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const page = await listWebhookDeliveries(ctx, {
      tenantId: call.tenantId,
      endpointId: query.endpoint,
      generationId: query.generation,
      state: query.state,
      ...pageOf(query, DELIVERY_ID),
    });
    return json(200, page);
  },
};

export const getWebhookDeliveryRoute: TenantRoute = {
  method: 'get',
  path: '/v1/webhook-deliveries/{delivery}',
  auth: 'webhooks',
  problems: ['webhook_delivery_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'getWebhookDelivery',
    summary: 'Read a webhook delivery with its attempts',
    tags: ['Webhooks'],
    requestParams: { path: deliveryParams },
    responses: { '200': { description: 'The delivery.', content } },
  }),
  handle: (ctx) => async (call) => {
    const delivery = await getWebhookDelivery(ctx, { tenantId: call.tenantId, id: call.params['delivery']! });
    if (delivery === null) throw deliveryNotFound();
    return json(200, delivery);
  },
};

export const redeliverWebhookRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-deliveries/{delivery}/redeliver',
  auth: 'webhooks',
  problems: [
    'webhook_delivery_not_found',
    'webhook_endpoint_disabled',
    'webhook_endpoint_deleted',
    'malformed_url',
  ],
  describe: () => ({
    operationId: 'redeliverWebhook',
    summary: 'Send a delivery again',
    description: 'Whatever became of it, with the whole schedule again; the `webhook-id` stays.',
    tags: ['Webhooks'],
    requestParams: { path: deliveryParams },
    responses: { '202': { description: 'On its way.', content } },
  }),
  handle: (ctx) => async (call) => {
    const result = await redeliverOne(ctx, { tenantId: call.tenantId, id: call.params['delivery']! });
    switch (result.outcome) {
      case 'redelivering':
        return json(202, result.delivery);
      case 'not_found':
        throw deliveryNotFound();
      case 'endpoint_disabled':
        throw endpointDisabled();
      case 'endpoint_deleted':
        throw new Problem(
          'webhook_endpoint_deleted',
          'Create a new endpoint; what went to a deleted one is not sent again.',
        );
    }
  },
};
