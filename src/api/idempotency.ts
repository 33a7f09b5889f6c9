import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { parseIdempotencyKey, type IdempotencyKeyProblem } from '../domain/http/idempotency-key.ts';
import { Problem } from './problems.ts';

const DETAILS: Readonly<Record<IdempotencyKeyProblem, string>> = {
  missing:
    'Send an Idempotency-Key header: a new random value, such as a UUID, for each new intent; the same for a retry.',
  repeated: 'Send the Idempotency-Key header once.',
  empty: 'The key is empty: send 1 to 255 characters.',
  too_long: 'The key is too long: send at most 255 characters.',
  list: 'The key is a list: send one value without commas outside quotes.',
  characters: 'The key has a character that is not allowed: use visible ASCII.',
  quoting:
    'The quotes of the key are not well formed (RFC 8941 string): send "key" or key, without parameters.',
};

/** The key of a request that creates. @throws Problem 400, each fault with its own detail. */
export function idempotencyKey(request: IncomingMessage): string {
  const result = parseIdempotencyKey(request.headersDistinct['idempotency-key'] ?? []);
  if (result.ok) return result.key;
  const code = result.problem === 'missing' ? 'idempotency_key_missing' : 'idempotency_key_invalid';
  throw new Problem(code, DETAILS[result.problem]);
}

/** The header as the API document shows it. */
export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(257)
    .regex(/^[!#-+\--:<-[\]-~]{1,255}$|^"[ !#-[\]-~]{1,255}"$/)
    .meta({
      description:
        'One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer ' +
        'comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route.',
      example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    }),
});
