import { z } from 'zod';
import { Problem } from '../../problems.ts';
import { reasonText } from '../../validation.ts';

/** Why an operator does something; kept for ever with the id of the key. */
export const reason = reasonText.meta({
  description: 'Why; kept for ever with the id of your key and the time.',
  example: 'ticket 4711',
});

export const tenantParams = z.object({
  id: z.string().meta({ description: 'Id of the tenant.', example: 'ten_06f1m4k2h8v7x9q3w5y1z0a2b4' }),
});

/** For operators, who see the generations of every tenant. */
export function noSuchGeneration(): Problem {
  return new Problem('generation_not_found', 'Check the id: gen_ and 26 characters.');
}

export function noSuchTenant(): Problem {
  return new Problem('tenant_not_found', 'Check the id; "darkroom tenant list" shows all.');
}
