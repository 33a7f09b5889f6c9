import { z } from 'zod';
import { ENDPOINT_ID, GENERATION_ID, TENANT_ID } from '../../../domain/ids.ts';
import { operatedDeliveryDetailSchema, operatedDeliverySchema } from '../../../domain/operated-webhook.ts';
import { DELIVERY_STATES } from '../../../domain/webhook-view.ts';
import { listDeliveries, redeliverAsOperator, showDelivery } from '../../../services/operate-webhooks.ts';
import { DELIVERY_ID } from '../../../services/webhook-views.ts';
import { linksTo } from '../../links.ts';
import { pageOf, pageQuery, pageSchema } from '../../paging.ts';
import { Problem } from '../../problems.ts';
import { json, type OperatorRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody, parseQuery } from '../../validation.ts';
import { deliveryParams } from '../webhooks/parts.ts';
import { dryRun, reason } from './parts.ts';

const querySchema = z.strictObject({
  tenant: z
    .string()
    .regex(TENANT_ID, 'Use the id of a tenant.')
    .optional()
    .meta({ description: 'Only those of this tenant.' }),
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

export const listOperatedDeliveriesRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/webhook-deliveries',
  auth: 'operator',
  problems: ['invalid_query', 'invalid_cursor'],
  describe: () => ({
    operationId: 'listOperatedWebhookDeliveries',
    summary: 'List webhook deliveries of all tenants',
    description: 'Newest first; of the address only its origin.',
    tags: ['Operators'],
    requestParams: { query: querySchema },
    responses: {
      '200': {
        description: 'One page.',
        content: { 'application/json': { schema: pageSchema(operatedDeliverySchema) } },
        links: linksTo(
          { showOperatedWebhookDelivery: 'delivery', redeliverOperatedWebhook: 'delivery' },
          '$response.body#/data/0/id',
        ),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const query = parseQuery(querySchema, call.query);
    const page = await listDeliveries(ctx, {
      tenantId: query.tenant,
      endpointId: query.endpoint,
      generationId: query.generation,
      state: query.state,
      ...pageOf(query, DELIVERY_ID),
    });
    return json(200, page);
  },
};

const content = { 'application/json': { schema: operatedDeliveryDetailSchema } };

export const showOperatedDeliveryRoute: OperatorRoute = {
  method: 'get',
  path: '/admin/v1/webhook-deliveries/{delivery}',
  auth: 'operator',
  problems: ['webhook_delivery_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'showOperatedWebhookDelivery',
    summary: 'Show a webhook delivery to operators',
    description: 'With its attempts, but not what the receiver answered.',
    tags: ['Operators'],
    requestParams: { path: deliveryParams },
    responses: { '200': { description: 'The delivery.', content } },
  }),
  handle: (ctx) => async (call) => {
    const delivery = await showDelivery(ctx, call.params['delivery']!);
    if (delivery === null) throw noSuchDelivery();
    return json(200, delivery);
  },
};

const bodySchema = z.strictObject({ reason, dry_run: dryRun });

export const redeliverOperatedRoute: OperatorRoute = {
  method: 'post',
  path: '/admin/v1/webhook-deliveries/{delivery}/redeliver',
  auth: 'operator',
  problems: [
    ...JSON_PROBLEMS,
    'invalid_request',
    'webhook_delivery_not_found',
    'webhook_endpoint_disabled',
    'webhook_endpoint_deleted',
    'malformed_url',
  ],
  describe: () => ({
    operationId: 'redeliverOperatedWebhook',
    summary: 'Send a delivery of any tenant again',
    description: 'Whatever became of it, with the whole schedule again; the `webhook-id` stays.',
    tags: ['Operators'],
    requestParams: { path: deliveryParams },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: bodySchema, example: { reason: 'ticket 4711' } } },
    },
    responses: {
      '200': { description: 'What would come of it (dry run).', content },
      '202': { description: 'On its way.', content },
    },
  }),
  handle: (ctx) => async (call) => {
    const body = parseBody(bodySchema, await readJsonObject(call.request));
    const dry = body.dry_run === true;
    const result = await redeliverAsOperator(ctx, {
      id: call.params['delivery']!,
      dryRun: dry,
      reason: body.reason,
      actor: call.actor,
    });
    switch (result.outcome) {
      case 'redelivering':
        return json(dry ? 200 : 202, result.delivery);
      case 'not_found':
        throw noSuchDelivery();
      case 'endpoint_disabled':
        throw new Problem(
          'webhook_endpoint_disabled',
          'Enable it first, when it works again: "darkroom webhook enable", or its tenant does.',
        );
      case 'endpoint_deleted':
        throw new Problem('webhook_endpoint_deleted', 'What went to a deleted endpoint is not sent again.');
    }
  },
};

/** For operators, who see the deliveries of every tenant. */
function noSuchDelivery(): Problem {
  return new Problem(
    'webhook_delivery_not_found',
    'Check the id; GET /admin/v1/webhook-deliveries lists those of the last 30 days.',
  );
}
