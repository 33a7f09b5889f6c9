import { z } from 'zod';
import type { Db } from './client.ts';

/** A limit of the tenant or of the account that this call would pass; nothing was written. */
export const limitReachedSchema = z.object({
  outcome: z.literal('limit_reached'),
  limit: z.enum(['generations_in_flight', 'credits_per_day', 'requests_per_minute', 'cancels_per_day']),
  scope: z.enum(['tenant', 'account']),
  max: z.number(),
  retryInMs: z.number(),
});
export type LimitReached = z.infer<typeof limitReachedSchema>;

const taken = z.object({
  allowed: z.boolean(),
  limit: z.int(),
  remaining: z.int(),
  resetInMs: z.number(),
});
/** One request counted against the tenant's present minute. */
export type TakenRequest = z.infer<typeof taken>;

/** Counts one request of the tenant; null when it has no such limit. */
export function takeTenantRequest(db: Db, tenantId: string): Promise<TakenRequest | null> {
  return db.call('take_tenant_request', { tenantId }, taken.nullable());
}

/** Limits of a tenant as a whole, of each of its accounts, or of one account (named); null = no such limit. */
export interface UsageLimits {
  readonly generationsInFlight: number | null;
  readonly creditsPerDay: number | null;
  readonly requestsPerMinute: number | null;
  readonly cancelsPerDay: number | null;
}
export type LimitScope = 'tenant' | 'each_account' | 'account';

const limitSet = z.object({ outcome: z.enum(['set', 'unknown_tenant', 'unknown_account']) });

/** Replaces the limits of one scope, with who and why in the record of operators. */
export function setUsageLimit(
  db: Db,
  change: UsageLimits & {
    readonly tenantId: string;
    readonly scope: LimitScope;
    readonly account: string | null;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<z.infer<typeof limitSet>> {
  return db.call('set_usage_limit', { ...change }, limitSet);
}

export type ShownLimit = UsageLimits & { readonly scope: LimitScope; readonly account: string | null };

/** All limits of a tenant, its own first. */
export async function listUsageLimits(db: Db, tenantId: string): Promise<ShownLimit[]> {
  const rows = await db.prisma.$queryRaw<
    {
      scope: string;
      account: string | null;
      inFlight: number | null;
      credits: bigint | null;
      requests: number | null;
      cancels: number | null;
    }[]
  >`SELECT l.scope, a.name AS account, l.generations_in_flight AS "inFlight", l.credits_per_day AS credits,
      l.requests_per_minute AS requests, l.cancels_per_day AS cancels
    FROM usage_limit l LEFT JOIN ledger_account a ON l.scope = 'account:' || a.id
    WHERE l.tenant_id = ${tenantId} ORDER BY l.scope = 'tenant' DESC, l.scope = 'each_account' DESC, a.name`;
  return rows.map((row) => ({
    scope: row.scope === 'tenant' || row.scope === 'each_account' ? row.scope : 'account',
    account: row.account,
    generationsInFlight: row.inFlight,
    creditsPerDay: row.credits === null ? null : Number(row.credits),
    requestsPerMinute: row.requests,
    cancelsPerDay: row.cancels,
  }));
}
