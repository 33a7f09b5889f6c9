import { setProviderBudget as recordBudget, type ProviderBudget } from '../db/index.ts';
import type { ServiceContext } from './context.ts';
import { listProviderBudgets } from './list-provider-budgets.ts';

/** A decimal text and the provider's own unit; null lifts the budget. */
export type BudgetPerDay = { readonly amount: string; readonly unit: string } | null;

export type SetProviderBudgetOutcome =
  | { readonly outcome: 'set'; readonly budget: ProviderBudget }
  | { readonly outcome: 'lifted' | 'unknown_provider' };

/** What may be spent at a provider in a UTC day, with who and why in the record of operators. */
export async function setProviderBudget(
  ctx: Pick<ServiceContext, 'db' | 'catalogue' | 'providers'>,
  input: {
    readonly provider: string;
    readonly perDay: BudgetPerDay;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<SetProviderBudgetOutcome> {
  const { provider, perDay, reason, actor } = input;
  const routed = ctx.catalogue.models.flatMap(({ routes }) => routes.map((route) => route.provider));
  if (!ctx.providers.has(provider) && !routed.includes(provider)) return { outcome: 'unknown_provider' };
  await recordBudget(ctx.db, {
    provider,
    amountPerDay: perDay?.amount ?? null,
    unit: perDay?.unit ?? null,
    reason,
    actor,
  });
  const budget = (await listProviderBudgets(ctx)).find((one) => one.provider === provider);
  // Another operator's change in this very moment is what stands then.
  return budget === undefined ? { outcome: 'lifted' } : { outcome: 'set', budget };
}
