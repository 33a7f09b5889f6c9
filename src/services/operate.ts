import type { Db } from '../db/index.ts';
import { asTrial } from '../db/transaction.ts';
import type { ServiceContext } from './context.ts';

/** What an operator's action works with; a trial has a transaction that is undone, and wakes nobody. */
export type OperatorContext = Pick<ServiceContext, 'db' | 'starter'>;

/**
 * Does what an operator asks for, or only tells what would come of it: the same action in a transaction that is undone,
 * without a wake.
 */
export function operate<T>(
  ctx: OperatorContext,
  dryRun: boolean,
  act: (ctx: OperatorContext) => Promise<T>,
): Promise<T> {
  if (!dryRun) return act(ctx);
  return asTrial(ctx.db, (db: Db) => act({ db, starter: { enqueue: () => true } }));
}
