import { z } from 'zod';
import type { FailedCode } from '../domain/errors.ts';
import { STATES } from '../domain/generation.ts';
import type { Db } from './client.ts';
import { runFactsSchema } from './run-facts.ts';

const resolved = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('resolved'),
    state: z.enum(STATES),
    errorCode: z.string().nullable(),
    captured: z.number(),
    run: runFactsSchema,
  }),
  z.object({ outcome: z.literal('already_terminal'), state: z.enum(STATES) }),
  z.object({
    outcome: z.literal('not_possible'),
    why: z.enum(['sending', 'downloading', 'outputs_stored', 'no_output_stored']),
  }),
  z.object({ outcome: z.literal('not_found') }),
]);
export type Resolved = z.infer<typeof resolved>;

/** The end of a generation by a person: only what the rows allow, with reason and name in the record. */
export function resolveGeneration(
  db: Db,
  resolution: {
    readonly generationId: string;
    readonly state: 'failed' | 'succeeded';
    /** For `failed`; after an observed success the rows decide between output_lost and output_invalid. */
    readonly errorCode: FailedCode | null;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<Resolved> {
  return db.call('resolve_generation', { ...resolution }, resolved);
}
