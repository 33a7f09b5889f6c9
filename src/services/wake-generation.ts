import { wakeByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/** Wakes the run of a generation that has not ended, or starts it again when it was lost. */
export function wakeGeneration(ctx: OperatorContext, input: ActionInput): Promise<Acted> {
  return actOnGeneration(ctx, input, wakeByOperator);
}
