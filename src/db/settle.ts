import { z } from 'zod';
import type { GenerationErrorCode } from '../domain/errors.ts';
import { STATES } from '../domain/generation.ts';
import type { TerminalState } from '../domain/generation.ts';
import type { Db } from './client.ts';
import { limitReachedSchema } from './limits.ts';
import { runFactsSchema } from './run-facts.ts';

/** How the run wants to end the generation; the rows decide whether it fits. */
export interface Proposal {
  readonly state: TerminalState;
  readonly errorCode: GenerationErrorCode | null;
}

const times = z.object({
  provider: z.string(),
  /** Since the first callback that told the end of its job. */
  sinceCallbackMs: z.number().nullable(),
  /** Since the look that first saw the success. */
  sinceSuccessMs: z.number().nullable(),
});

const settled = z.object({
  outcome: z.enum(['settled', 'already', 'stale']),
  state: z.enum(STATES),
  errorCode: z.string().nullable(),
  captured: z.number(),
  /** How long the end took, where this call has written it and there was a submission. */
  times: times.nullish(),
});
export type Settled = z.infer<typeof settled>;

/** State, hold, ledger and terminal event in one statement, once; `stale` = the rows say otherwise, decide again. */
export function settle(db: Db, generationId: string, proposal: Proposal): Promise<Settled> {
  return db.call('settle', { generationId, ...proposal }, settled);
}

const cancelled = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['not_found', 'already_terminal', 'cancelled', 'requested']),
    wake: z.boolean(),
    run: runFactsSchema.nullable(),
  }),
  limitReachedSchema.extend({ wake: z.boolean(), run: runFactsSchema.nullable() }),
]);
export type RequestedCancel = z.infer<typeof cancelled>;

/** The wish to cancel: settled at once while no provider can have the job, else flagged for the run. */
export function requestCancel(
  db: Db,
  params: {
    readonly generationId: string;
    /** null = an operator, for any tenant. */
    readonly tenantId: string | null;
    readonly actor: 'tenant' | 'operator';
  },
): Promise<RequestedCancel> {
  return db.call('request_cancel', { ...params }, cancelled);
}
