import { cancelByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/** The same as a tenant's cancel, without the tenant's limits and with a name and a reason on record. */
export function cancelAsOperator(ctx: OperatorContext, input: ActionInput): Promise<Acted> {
  return actOnGeneration(ctx, input, cancelByOperator);
}
