import type { Db } from './client.ts';

/** What the database knows of a provider now; one without any row is not told of. */
export interface ProviderState {
  readonly provider: string;
  /** Until when new submits are stopped after failures in a row: an opening, or the probe after it. */
  readonly circuitOpenUntil: Date | null;
  /** It has opened and no submit has succeeded since. */
  readonly circuitTripped: boolean;
  /** Of the present UTC day; null = there is no budget. */
  readonly budgetReached: boolean | null;
  /** Jobs of generations that have not ended: those whose end a callback should tell, and those that are only polled. */
  readonly waitingForCallback: number;
  readonly waitingForPoll: number;
}

/** One cheap read over the jobs that are waited for (as `waiting_jobs`: a step for each), the circuits and the budgets. */
export function readProviderStates(db: Db): Promise<ProviderState[]> {
  return db.prisma.$queryRaw<ProviderState[]>`
    WITH waiting AS (
      SELECT s.provider, count(*) FILTER (WHERE s.callback_base IS NOT NULL)::int AS by_callback,
        count(*) FILTER (WHERE s.callback_base IS NULL)::int AS by_poll
      FROM generation g CROSS JOIN LATERAL (SELECT provider, callback_base FROM submission
        WHERE generation_id = g.id AND state = 'accepted' AND ended_at IS NULL OFFSET 0) AS s
      WHERE g.completed_at IS NULL GROUP BY s.provider)
    SELECT provider, CASE WHEN greatest(c.open_until, c.probe_until) > clock_timestamp() THEN greatest(c.open_until, c.probe_until) END
        AS "circuitOpenUntil",
      c.open_until IS NOT NULL AS "circuitTripped",
      CASE WHEN b.amount_per_day IS NOT NULL THEN coalesce(b.reached_at >= day_start(), false) END AS "budgetReached",
      coalesce(w.by_callback, 0) AS "waitingForCallback", coalesce(w.by_poll, 0) AS "waitingForPoll"
    FROM waiting w FULL JOIN provider_circuit c USING (provider) FULL JOIN provider_budget b USING (provider)
    ORDER BY provider`;
}

/** What is booked for submits of the present UTC day, final costs and estimates; the amount is a decimal text. */
export interface SpentToday {
  readonly provider: string;
  readonly unit: string;
  readonly amount: string;
}

/** The costs of today at these providers, by unit. */
export function readSpentToday(db: Db, providers: readonly string[]): Promise<SpentToday[]> {
  return db.prisma.$queryRaw<SpentToday[]>`
    SELECT provider, cost_unit AS unit, trim_scale(sum(cost_amount))::text AS amount FROM submission
    WHERE provider = ANY(${[...providers]}) AND first_sent_at >= day_start() AND cost_unit IS NOT NULL
    GROUP BY provider, cost_unit ORDER BY provider, cost_unit`;
}
