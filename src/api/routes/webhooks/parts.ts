import { z } from 'zod';
import { ENDPOINT_ID } from '../../../domain/ids.ts';
import { anyText, PUBLIC_URL_PATTERN } from '../../../domain/text-schema.ts';
import { DELIVERY_ID } from '../../../services/webhook-views.ts';
import { Problem } from '../../problems.ts';
import { invalidRequest } from '../../validation.ts';

export const endpointParams = z.object({
  endpoint: z
    .string()
    .regex(ENDPOINT_ID)
    .meta({ description: 'Id of the endpoint.', example: 'whe_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
});

export const deliveryParams = z.object({
  delivery: z.string().regex(DELIVERY_ID).meta({ description: 'Id of the delivery.', example: 'whd_12' }),
});

export const urlSchema = z
  .string()
  .min(1)
  .max(2_048)
  .meta({
    description:
      'An https URL, without user and password, that a public address answers. Redirects are not followed.',
    example: 'https://example.com/webhooks/darkroom',
    override: { pattern: `^${PUBLIC_URL_PATTERN}$` },
  });

export const descriptionSchema = anyText(200).meta({
  description: 'Your own words.',
  example: 'production',
  maxLength: 200,
});

export const endOn4xxSchema = z.boolean().meta({
  description:
    'true = a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once; false = it is tried again.',
});

export const overlapSchema = z.int().min(0).max(168).default(24).meta({
  description: 'For how many hours the secrets of before sign as well.',
});

export const secretSchema = z.string().meta({
  description: 'Verify with it (Standard Webhooks). Shown this once: keep it now.',
  example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
});

/** One answer for malformed, unknown, deleted and another tenant's ids. */
export function endpointNotFound(): Problem {
  return new Problem('webhook_endpoint_not_found', 'Check the id; GET /v1/webhook-endpoints lists yours.');
}

/** One answer for malformed, unknown and another tenant's ids. */
export function deliveryNotFound(): Problem {
  return new Problem('webhook_delivery_not_found', 'Check the id; GET /v1/webhook-deliveries lists yours.');
}

export function endpointDisabled(): Problem {
  return new Problem(
    'webhook_endpoint_disabled',
    'Enable the endpoint first: PATCH it with {"enabled": true}, when it works again.',
  );
}

/** The URL is one that is never called: the tenant is told what is, not why this one is not. */
export function urlNotAllowed(): Problem {
  return invalidRequest([
    {
      path: '/url',
      message: 'Use an https URL on port 443 with a public host, without user, password and fragment.',
    },
  ]);
}
