import { attachJobByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/**
 * Names the provider's job of a submission whose answer was lost. It is attached once the provider was asked and knows
 * it; after the end, or for a submission that was declared not accepted, only its cost is booked.
 */
export function attachJob(
  ctx: OperatorContext,
  input: ActionInput & {
    /** null = the last one that was sent. */
    readonly submission: string | null;
    readonly jobId: string;
  },
): Promise<Acted> {
  const { submission, jobId } = input;
  return actOnGeneration(ctx, input, (db, by) => attachJobByOperator(db, { ...by, submission, jobId }));
}
