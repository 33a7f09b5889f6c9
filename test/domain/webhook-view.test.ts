import { describe, expect, it } from 'vitest';
import {
  webhookDeliveryDetailSchema,
  webhookEndpointSchema,
  webhookTypesSchema,
} from '../../src/domain/webhook-view.ts';

const endpoint = {
  id: 'whe_06f1m4k2h8v7x9q3w5y1z0a2b4',
  object: 'webhook_endpoint',
  url: 'https://example.com/hook',
  types: ['generation.succeeded'],
  description: '',
  end_on_4xx: false,
  state: 'enabled',
  disabled_reason: null,
  failing_since: null,
  previous_secret_expires_at: null,
  created_at: '2026-11-29T12:00:00.000Z',
  updated_at: '2026-11-29T12:00:00.000Z',
};

describe('what a tenant sees of its webhooks', () => {
  it('an endpoint has no place for its secret', () => {
    expect(webhookEndpointSchema.parse({ ...endpoint, secret: 'whsec_x' })).toEqual(endpoint);
  });

  it('an endpoint hears of something, and of nothing unknown', () => {
    expect(webhookTypesSchema.safeParse([]).success).toBe(false);
    expect(webhookTypesSchema.safeParse(['webhook.test']).success).toBe(false);
    expect(webhookTypesSchema.parse(['generation.updated'])).toEqual(['generation.updated']);
  });

  it('a delivery tells each attempt with its answer', () => {
    const delivery = {
      id: 'whd_1',
      object: 'webhook_delivery',
      event_id: 'evt_x_succeeded',
      type: 'webhook.test',
      generation_id: null,
      endpoint_id: null,
      state: 'failed',
      attempts: 1,
      next_attempt_at: null,
      last_status: 500,
      last_problem: 'http_status',
      created_at: '2026-11-29T12:00:00.000Z',
      delivered_at: null,
      tries: [
        {
          attempt: 1,
          at: '2026-11-29T12:00:00.000Z',
          duration_ms: 3,
          status: 500,
          problem: 'http_status',
          advice: 'x',
          answer: '<html>',
        },
      ],
    };
    expect(webhookDeliveryDetailSchema.parse(delivery)).toEqual(delivery);
    expect(webhookDeliveryDetailSchema.safeParse({ ...delivery, state: 'lost' }).success).toBe(false);
  });
});
