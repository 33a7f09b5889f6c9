import { z } from 'zod';
import { webhookEndpointSchema, webhookTypesSchema } from '../../../domain/webhook-view.ts';
import { createWebhookEndpoint, MAX_ENDPOINTS } from '../../../services/create-webhook-endpoint.ts';
import { LOCATION, REPLAYED } from '../../headers.ts';
import { idempotencyKey, idempotencyKeyHeader } from '../../idempotency.ts';
import { ENDPOINT_LINKS } from '../../links.ts';
import { Problem } from '../../problems.ts';
import { json, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import {
  descriptionSchema,
  endOn4xxSchema,
  endpointNotFound,
  secretSchema,
  urlNotAllowed,
  urlSchema,
} from './parts.ts';

const bodySchema = z.strictObject({
  url: urlSchema,
  types: webhookTypesSchema.optional(),
  description: descriptionSchema.default(''),
  end_on_4xx: endOn4xxSchema.default(false),
});

const createdSchema = webhookEndpointSchema
  .extend({ secret: secretSchema.optional() })
  .meta({ id: 'NewWebhookEndpoint' });

export const createWebhookEndpointRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-endpoints',
  auth: 'webhooks',
  problems: [
    'idempotency_key_missing',
    'idempotency_key_invalid',
    ...JSON_PROBLEMS,
    'invalid_request',
    'webhook_endpoint_not_found',
    'too_many_webhook_endpoints',
    'idempotency_key_reuse',
  ],
  describe: () => ({
    operationId: 'createWebhookEndpoint',
    summary: 'Create a webhook endpoint',
    description:
      'From now on the events of its types are posted there, signed as Standard Webhooks 1.0.0. Its secret is in this answer only; a ' +
      'replay of the same key gives the endpoint without it: rotate the secret if you have lost it.',
    tags: ['Webhooks'],
    requestParams: { header: idempotencyKeyHeader },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: bodySchema,
          example: { url: 'https://example.com/webhooks/darkroom', description: 'production' },
        },
      },
    },
    responses: {
      '201': {
        description: 'Created.',
        headers: { Location: LOCATION, 'Idempotent-Replayed': REPLAYED },
        content: { 'application/json': { schema: createdSchema } },
        links: ENDPOINT_LINKS,
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const key = idempotencyKey(call.request);
    const body = await readJsonObject(call.request);
    const { url, types, description, end_on_4xx: endOn4xx } = parseBody(bodySchema, body);
    const { tenantId } = call;
    const input = { tenantId, idempotencyKey: key, body, url, types, description, endOn4xx };
    const result = await createWebhookEndpoint(ctx, input);
    switch (result.outcome) {
      case 'created':
        return json(201, { ...result.endpoint, secret: result.secret }, located(result.endpoint.id));
      case 'replayed':
        if (result.endpoint === null) throw endpointNotFound();
        return json(201, result.endpoint, {
          ...located(result.endpoint.id),
          'Idempotent-Replayed': 'true',
        });
      case 'url_not_allowed':
        throw urlNotAllowed();
      case 'too_many':
        throw new Problem(
          'too_many_webhook_endpoints',
          `Delete one first: a tenant has at most ${MAX_ENDPOINTS}.`,
        );
      case 'key_reuse':
        throw new Problem(
          'idempotency_key_reuse',
          'Use a new Idempotency-Key for another endpoint; this one stands for another body.',
        );
    }
  },
};

function located(id: string): Record<string, string> {
  return { Location: `/v1/webhook-endpoints/${id}` };
}
