import { z } from 'zod';
import { webhookDeliveryDetailSchema, webhookDeliverySchema } from './webhook-view.ts';

const more = {
  tenant: z.string().meta({ description: 'Id of its tenant.' }),
  receiver: z.string().nullable().meta({
    description: 'Origin of the address; the rest of it is the tenant’s.',
    example: 'https://example.com',
  }),
  temporal_url: z.string().nullable().meta({
    description:
      'The run of its generation in the Temporal UI; null without one, or when `TEMPORAL_UI_URL` is not set.',
  }),
};

/** A delivery as operators see it. */
export const operatedDeliverySchema = webhookDeliverySchema
  .extend(more)
  .meta({ id: 'OperatedWebhookDelivery' });
export type OperatedDeliveryView = z.infer<typeof operatedDeliverySchema>;

const attemptSchema = webhookDeliveryDetailSchema.shape.tries.element.omit({ answer: true });

/** The same with its attempts, but not what the receiver answered. */
export const operatedDeliveryDetailSchema = operatedDeliverySchema
  .extend({
    tries: z.array(attemptSchema).meta({ description: 'The last attempts, newest first; at most 50.' }),
  })
  .meta({ id: 'OperatedWebhookDeliveryDetail' });
export type OperatedDeliveryDetail = z.infer<typeof operatedDeliveryDetailSchema>;
