import { observeByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/** Looks at the job of a generation now: by its run, or after its end by the loop of late observations. */
export function observeNow(ctx: OperatorContext, input: ActionInput): Promise<Acted> {
  return actOnGeneration(ctx, input, observeByOperator);
}
