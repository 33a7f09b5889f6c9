import { setUsageLimit as recordLimit, type ShownLimit } from '../db/index.ts';
import type { ServiceContext } from './context.ts';
import { listUsageLimits } from './list-usage-limits.ts';

export type SetUsageLimitOutcome =
  | { readonly outcome: 'set'; readonly limit: ShownLimit }
  | { readonly outcome: 'unknown_tenant' | 'unknown_account' };

/** Replaces the limits of one scope, with who and why in the record of operators; a limit that is null is lifted. */
export async function setUsageLimit(
  ctx: Pick<ServiceContext, 'db'>,
  input: {
    readonly tenantId: string;
    /** `account` is null unless the scope is one account. */
    readonly limit: ShownLimit;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<SetUsageLimitOutcome> {
  const { tenantId, limit, reason, actor } = input;
  if ((await listUsageLimits(ctx, tenantId)) === null) return { outcome: 'unknown_tenant' };
  const { outcome } = await recordLimit(ctx.db, { tenantId, ...limit, reason, actor });
  return outcome === 'set' ? { outcome, limit } : { outcome };
}
