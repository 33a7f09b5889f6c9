import { retryStoringByOperator } from '../db/operator-actions.ts';
import { actOnGeneration, type Acted, type ActionInput } from './act-on-generation.ts';
import type { OperatorContext } from './operate.ts';

/** For how many hours from now outputs are tried at least: the default and the bounds. */
export const STORE_HOURS = { default: 24, min: 1, max: 168 } as const;

/** Tries again to store what was given up, after a success of the provider and before the end. */
export function retryStoring(
  ctx: OperatorContext,
  input: ActionInput & { readonly hours: number },
): Promise<Acted> {
  const { hours } = input;
  return actOnGeneration(ctx, input, (db, by) => retryStoringByOperator(db, { ...by, hours }));
}
