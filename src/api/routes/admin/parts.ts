import { z } from 'zod';
import { TENANT_ID } from '../../../domain/ids.ts';
import { Problem } from '../../problems.ts';
import { reasonText } from '../../validation.ts';

/** Why an operator does something; kept for ever with the id of the key. */
export const reason = reasonText.meta({
  description: 'Why; kept for ever with the id of your key and the time.',
  example: 'ticket 4711',
});

/** The same call, undone. */
export const dryRun = z
  .boolean()
  .optional()
  .meta({ description: 'Only tell what would come of it: nothing is changed, nobody is woken.' });

/** In every answer about a generation. */
export const temporalUrl = z.string().nullable().meta({
  description: 'Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set.',
});

export const tenantParams = z.object({
  id: z
    .string()
    .regex(TENANT_ID)
    .meta({ description: 'Id of the tenant.', example: 'ten_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
});

/** For operators, who see the generations of every tenant. */
export function noSuchGeneration(): Problem {
  return new Problem('generation_not_found', 'Check the id: gen_ and 26 characters.');
}

export function noSuchTenant(): Problem {
  return new Problem('tenant_not_found', 'Check the id; "darkroom tenant list" shows all.');
}

/** One Idempotency-Key stands for one body. */
export function keyReuse(what: string): Problem {
  return new Problem(
    'idempotency_key_reuse',
    `Use a new Idempotency-Key for another ${what}; this one stands for another body.`,
  );
}

/** A yes or no in a query. */
export const flag = z.enum(['true', 'false']);
