import { z } from 'zod';
import { rotateWebhookSecret } from '../../../services/rotate-webhook-secret.ts';
import { json, type TenantRoute } from '../../route.ts';
import { JSON_PROBLEMS, readJsonObject } from '../../strict-json.ts';
import { parseBody } from '../../validation.ts';
import { overlapSchema, secretSchema } from './parts.ts';

const bodySchema = z.strictObject({ overlap_hours: overlapSchema });

export const rotateDefaultSecretRoute: TenantRoute = {
  method: 'post',
  path: '/v1/webhook-secret/rotate',
  auth: 'webhooks',
  problems: [...JSON_PROBLEMS, 'invalid_request'],
  describe: () => ({
    operationId: 'rotateWebhookSecret',
    summary: 'Create or renew the secret for callback_url',
    description:
      'What is sent to the `callback_url` of a generation is signed with it. The first call creates it; later ones replace it, and for ' +
      'the overlap those before sign as well.',
    tags: ['Webhooks'],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: bodySchema, example: { overlap_hours: 24 } } },
    },
    responses: {
      '200': {
        description: 'The secret.',
        content: {
          'application/json': {
            schema: z
              .object({
                object: z.literal('webhook_secret').meta({ description: 'Always `webhook_secret`.' }),
                secret: secretSchema,
              })
              .meta({ id: 'WebhookSecret' }),
          },
        },
      },
    },
  }),
  handle: (ctx) => async (call) => {
    const { overlap_hours: overlapHours } = parseBody(bodySchema, await readJsonObject(call.request));
    const rotated = await rotateWebhookSecret(ctx, {
      tenantId: call.tenantId,
      endpointId: null,
      overlapHours,
    });
    if (rotated === null) throw new Error('the tenant of a key is gone');
    return json(200, { object: 'webhook_secret', secret: rotated.secret });
  },
};
