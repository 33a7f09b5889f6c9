import { z } from 'zod';
import type { JsonObject } from '../domain/json.ts';
import type { Db } from './client.ts';
import { limitReachedSchema } from './limits.ts';
import { runFactsSchema } from './run-facts.ts';

export interface NewGeneration {
  readonly generationId: string;
  readonly tenantId: string;
  readonly account: string;
  /** Method and path template; keys are unique per tenant and route. */
  readonly route: string;
  readonly idempotencyKey: string;
  /** Hex of the canonical request. */
  readonly requestSha256: string;
  readonly model: string;
  readonly provider: string;
  readonly input: JsonObject;
  readonly metadata: JsonObject;
  readonly plan: JsonObject;
  readonly credits: number;
  readonly deadlineSeconds: number;
  /** The answer's bytes with `<nonce>:created_at` and `<nonce>:deadline_at` where the database puts its times. */
  readonly responseTemplate: string;
  readonly nonce: string;
  /** Told of the end, beside the tenant's endpoints. */
  readonly callbackUrl: string | null;
  /** Stored inputs of the tenant that it works from, by field. */
  readonly inputs: readonly { readonly field: string; readonly inputId: string }[];
  /** How long its outputs, and so its inputs, are kept unless the tenant has set another time. */
  readonly retentionMs: number;
}

const created = { generationId: z.string(), responseBody: z.string(), run: runFactsSchema };
const result = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('created'), ...created }),
  z.object({ outcome: z.literal('replayed'), ...created }),
  z.object({ outcome: z.literal('key_reuse') }),
  z.object({ outcome: z.literal('in_progress') }),
  z.object({ outcome: z.literal('unknown_account') }),
  z.object({ outcome: z.enum(['tenant_paused', 'model_paused']) }),
  z.object({ outcome: z.literal('unknown_input'), field: z.string() }),
  z.object({ outcome: z.literal('insufficient_credits'), available: z.number(), required: z.number() }),
  limitReachedSchema,
]);
export type CreatedGeneration = z.infer<typeof result>;

/** Row, hold, first event and the stored answer in one statement; the idempotency key decides who creates. */
export function createGeneration(db: Db, generation: NewGeneration): Promise<CreatedGeneration> {
  return db.call('create_generation', { ...generation }, result);
}
