import { z } from 'zod';
import { TEST_WEBHOOK_TYPE, WEBHOOK_TYPES } from './webhook-event.ts';

function time(description: string) {
  return z.iso.datetime({ precision: 3 }).meta({ description, example: '2026-11-29T12:00:00.000Z' });
}

export const webhookTypesSchema = z.array(z.enum(WEBHOOK_TYPES)).min(1).max(WEBHOOK_TYPES.length).meta({
  description:
    'What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well.',
});

/** An endpoint as its tenant sees it; the secret is never part of it. */
export const webhookEndpointSchema = z
  .object({
    id: z.string().meta({ description: 'Never changes.', example: 'whe_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
    object: z.literal('webhook_endpoint').meta({ description: 'Always `webhook_endpoint`.' }),
    url: z.string().meta({ description: 'Where the messages are posted.' }),
    types: webhookTypesSchema,
    description: z.string().meta({ description: 'Your own words.' }),
    end_on_4xx: z.boolean().meta({
      description:
        'Whether a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once instead of being tried again.',
    }),
    state: z.enum(['enabled', 'disabled']).meta({ description: 'Whether anything is sent.' }),
    disabled_reason: z.enum(['tenant', 'gone', 'failing']).nullable().meta({
      description:
        '`tenant` = by you, `gone` = it answered 410, `failing` = nothing succeeded for five days; null while it is enabled.',
    }),
    failing_since: time('Since when every attempt has failed; null while it works.').nullable(),
    previous_secret_expires_at: time(
      'Until when messages are also signed with the secret before; null when there is none.',
    ).nullable(),
    created_at: time('When it was made.'),
    updated_at: time('When it was changed last.'),
  })
  .meta({ id: 'WebhookEndpoint' });
export type WebhookEndpointView = z.infer<typeof webhookEndpointSchema>;

export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'held', 'cancelled'] as const;

/** One event for one receiver. */
export const webhookDeliverySchema = z
  .object({
    id: z.string().meta({ description: 'Never changes.', example: 'whd_12' }),
    object: z.literal('webhook_delivery').meta({ description: 'Always `webhook_delivery`.' }),
    event_id: z.string().meta({
      description: 'The `webhook-id` header: the same at each attempt and each receiver; remember it.',
    }),
    type: z.enum([...WEBHOOK_TYPES, TEST_WEBHOOK_TYPE]).meta({ description: 'What it tells.' }),
    generation_id: z.string().nullable().meta({ description: 'The generation; null for a test.' }),
    endpoint_id: z
      .string()
      .nullable()
      .meta({ description: 'The endpoint; null for the `callback_url` of the generation.' }),
    state: z.enum(DELIVERY_STATES).meta({
      description:
        '`pending` = due now or later, `failed` = the schedule is over, `held` = the endpoint is disabled, `cancelled` = it was deleted. All ' +
        'but `pending` can be sent again.',
    }),
    attempts: z.int().min(0).meta({ description: 'How often it was tried.' }),
    next_attempt_at: time('When it is tried next; null when it is not.').nullable(),
    last_status: z
      .int()
      .nullable()
      .meta({ description: 'The HTTP status of the last answer; null without one.' }),
    last_problem: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt failed; null when it did not.' }),
    created_at: time('When it happened.'),
    delivered_at: time('When it was taken first; null until then.').nullable(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDeliveryView = z.infer<typeof webhookDeliverySchema>;

const attemptSchema = z.object({
  attempt: z.int().min(1).meta({ description: 'Also the `X-Webhook-Attempt` header.' }),
  at: time('When it ended.'),
  duration_ms: z.int().min(0).meta({ description: 'How long it took.' }),
  status: z.int().nullable().meta({ description: 'The HTTP status; null without an answer.' }),
  problem: z.string().nullable().meta({ description: 'Why it failed, as a fixed word; null on a success.' }),
  advice: z.string().nullable().meta({ description: 'The same in a sentence.' }),
  answer: z.string().meta({ description: 'The first 20,000 bytes of the answer, read as UTF-8.' }),
});

/** A delivery with what its receiver answered. */
export const webhookDeliveryDetailSchema = webhookDeliverySchema
  .extend({
    tries: z.array(attemptSchema).meta({ description: 'The last attempts, newest first; at most 50.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });
export type WebhookDeliveryDetail = z.infer<typeof webhookDeliveryDetailSchema>;
