import { redeliverByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/** Sends every webhook of a generation again, to each endpoint that still takes them. */
export function redeliverGeneration(ctx: OperatorContext, input: ActionInput): Promise<Acted> {
  return actOnGeneration(ctx, input, redeliverByOperator);
}
