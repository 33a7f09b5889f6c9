import { readCredits as readAccount, type Credits } from '../db/index.ts';
import type { ServiceContext } from './context.ts';

/** The balance of one account of the tenant, or null when it has none of that name. */
export function readCredits(
  ctx: Pick<ServiceContext, 'db'>,
  input: { readonly tenantId: string; readonly account: string },
): Promise<Credits | null> {
  return readAccount(ctx.db, input.tenantId, input.account);
}
