import { listProviderBudgets as readBudgets, type ProviderBudget } from '../db/index.ts';
import type { ServiceContext } from './context.ts';

/** Every provider's budget of the day and what is spent of it, by name. */
export function listProviderBudgets(ctx: Pick<ServiceContext, 'db'>): Promise<readonly ProviderBudget[]> {
  return readBudgets(ctx.db);
}
