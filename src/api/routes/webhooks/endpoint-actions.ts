import { z } from 'zod';
import { webhookDeliverySchema, webhookEndpointSchema } from '../../../domain/webhook-view.ts';
import { getWebhookEndpoint } from '../../../services/read-webhook-endpoints.ts';
import { redeliverSince, REDELIVER_LIMIT } from '../../../services/redeliver-webhooks.ts';
import { rotateWebhookSecret } from '../../../services/rotate-webhook-secret.ts';
import { testWebhookEndpoint } from '../../../services/test-webhook-endpoint.ts';
import { linksTo } from '../../links.ts';
import { json, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody, timeText } from '../../validation.ts';
import { endpointDisabled, endpointNotFound, endpointParams, overlapSchema, secretSchema } from './parts.ts';

const rotateSchema = z.strictObject({ overlap_hours: overlapSchema });

export const rotateEndpointSecretRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-endpoints/{endpoint}/rotate',
  auth: 'webhooks',
  problems: [...JSON_PROBLEMS, 'invalid_request', 'webhook_endpoint_not_found', 'malformed_url'],
  describe: () => ({
    operationId: 'rotateWebhookEndpointSecret',
    summary: 'Give an endpoint a new secret',
    description:
      'Messages are signed with the new secret and, for the overlap, with those before, so that no receiver fails meanwhile. If the ' +
      'answer was lost, rotate again.',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: rotateSchema, example: { overlap_hours: 24 } } },
    },
    responses: {
      '200': {
        description: 'The endpoint with its new secret.',
        content: {
          'application/json': {
            schema: webhookEndpointSchema
              .extend({ secret: secretSchema })
              .meta({ id: 'RotatedWebhookEndpoint' }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const { overlap_hours: overlapHours } = parseBody(rotateSchema, await readJsonObject(call.request));
    const { tenantId, params } = call;
    const id = params['endpoint']!;
    const rotated = await rotateWebhookSecret(ctx, { tenantId, endpointId: id, overlapHours });
    const endpoint = rotated && (await getWebhookEndpoint(ctx, { tenantId, id }));
    if (rotated === null || endpoint === null) throw endpointNotFound();
    return json(200, { ...endpoint, secret: rotated.secret });
  },
};

export const testWebhookEndpointRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-endpoints/{endpoint}/test',
  auth: 'webhooks',
  problems: ['webhook_endpoint_not_found', 'webhook_endpoint_disabled', 'malformed_url'],
  describe: () => ({
    operationId: 'testWebhookEndpoint',
    summary: 'Send a test to an endpoint',
    description:
      'A `webhook.test` event, signed and tried as any other; read the delivery for what came of it.',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    responses: {
      '202': {
        description: 'On its way.',
        headers: { Location: { description: 'Path of the delivery.', schema: { type: 'string' } } },
        content: { 'application/json': { schema: webhookDeliverySchema } },
        links: linksTo({ getWebhookDelivery: 'delivery', redeliverWebhook: 'delivery' }),
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const result = await testWebhookEndpoint(ctx, {
      tenantId: call.tenantId,
      id: call.params['endpoint']!,
    });
    switch (result.outcome) {
      case 'sending':
        return json(202, result.delivery, { Location: `/v1/webhook-deliveries/${result.delivery.id}` });
      case 'not_found':
        throw endpointNotFound();
      case 'endpoint_disabled':
        throw endpointDisabled();
    }
  },
};

const sinceSchema = z.strictObject({
  since: timeText.meta({ description: 'Events since then.', example: '2026-11-29T12:00:00Z' }),
  all: z
    .boolean()
    .default(false)
    .meta({ description: 'Also those that were delivered; else those that failed or were held.' }),
});

const redeliveringSchema = z.object({
  object: z.literal('redelivery').meta({ description: 'Always `redelivery`.' }),
  count: z.int().min(0).meta({ description: 'How many are sent again.' }),
  has_more: z.boolean().meta({
    description: `Whether there are more than ${REDELIVER_LIMIT}: call again with \`next_since\`.`,
  }),
  next_since: z
    .string()
    .nullable()
    .meta({ description: '`since` of the call that goes on; null when there is no more.' }),
});

export const redeliverSinceRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-endpoints/{endpoint}/redeliver',
  auth: 'webhooks',
  problems: [
    ...JSON_PROBLEMS,
    'invalid_request',
    'webhook_endpoint_not_found',
    'webhook_endpoint_disabled',
    'malformed_url',
  ],
  describe: () => ({
    operationId: 'redeliverSince',
    summary: 'Send again what an endpoint missed since a time',
    description: 'Oldest first, each under its old `webhook-id`, with the whole schedule again.',
    tags: ['Webhooks'],
    requestParams: { path: endpointParams },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: sinceSchema, example: { since: '2026-11-29T12:00:00Z' } } },
    },
    responses: {
      '202': {
        description: 'On their way.',
        content: { 'application/json': { schema: redeliveringSchema } },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const { since, all } = parseBody(sinceSchema, await readJsonObject(call.request));
    const { tenantId, params } = call;
    const result = await redeliverSince(ctx, {
      tenantId,
      endpointId: params['endpoint']!,
      // PostgreSQL knows fewer zones than ISO 8601: it is given the time in UTC.
      since: new Date(since).toISOString(),
      all,
    });
    switch (result.outcome) {
      case 'redelivering':
        return json(202, {
          object: 'redelivery',
          count: result.count,
          has_more: result.more,
          next_since: result.next,
        });
      case 'endpoint_disabled':
        throw endpointDisabled();
      case 'not_found':
      case 'endpoint_deleted':
        throw endpointNotFound();
    }
  },
};
