import { z } from 'zod';
import type { Db } from './client.ts';

const changed = z.object({ outcome: z.enum(['set', 'lifted']) });

/** What may be spent at a provider in a UTC day (decimal text in its own unit); null lifts it. */
export function setProviderBudget(
  db: Db,
  change: {
    readonly provider: string;
    readonly amountPerDay: string | null;
    readonly unit: string | null;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<z.infer<typeof changed>> {
  return db.call('set_provider_budget', { ...change }, changed);
}

export interface ProviderBudget {
  readonly provider: string;
  readonly unit: string;
  /** Decimal texts. */
  readonly amountPerDay: string;
  readonly spentToday: string;
  /** When new submits were stopped today, or null. */
  readonly reachedAt: Date | null;
}

/** Every budget with what is spent today: final costs and estimates, also of submits whose answer was lost. */
export function listProviderBudgets(db: Db): Promise<ProviderBudget[]> {
  return db.prisma.$queryRaw<ProviderBudget[]>`
    SELECT b.provider, b.unit, trim_scale(b.amount_per_day)::text AS "amountPerDay",
      coalesce((SELECT trim_scale(sum(s.cost_amount))::text FROM submission s
        WHERE s.provider = b.provider AND s.first_sent_at >= day_start() AND s.cost_unit = b.unit), '0') AS "spentToday",
      CASE WHEN b.reached_at >= day_start() THEN b.reached_at END AS "reachedAt"
    FROM provider_budget b ORDER BY b.provider`;
}
