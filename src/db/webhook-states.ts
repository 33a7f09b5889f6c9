import { z } from 'zod';
import type { Db } from './client.ts';

/** More than that is counted as that: a dead receiver leaves them behind for a month. */
const MOST = 100_000;

const states = z.object({
  pending: z.int(),
  held: z.int(),
  failed: z.int(),
  oldestDueSeconds: z.number(),
});
/** How the deliveries to tenants stand; each number ends at 100,000. */
export type WebhookStates = z.infer<typeof states>;

/**
 * Deliveries that wait, are held or have failed, and for how long the oldest one has been due that nobody works on:
 * nothing is under way at its receiver, whose circuit is not open. So a dead receiver does not count, a dead worker does.
 */
export async function readWebhookStates(db: Db): Promise<WebhookStates> {
  const [row] = await db.prisma.$queryRaw<unknown[]>`
    SELECT (SELECT count(*)::int FROM (SELECT 1 FROM webhook_delivery WHERE state = 'pending' LIMIT ${MOST}) AS p) AS pending,
      (SELECT count(*)::int FROM (SELECT 1 FROM webhook_delivery WHERE state = 'held' LIMIT ${MOST}) AS h) AS held,
      (SELECT count(*)::int FROM (SELECT 1 FROM webhook_delivery WHERE state = 'failed' LIMIT ${MOST}) AS f) AS failed,
      (SELECT coalesce(extract(epoch FROM now() - min(d.due)), 0)::float8
        FROM (SELECT target, min(next_attempt_at) AS due FROM webhook_delivery WHERE state = 'pending' AND next_attempt_at <= now()
          GROUP BY target) AS d LEFT JOIN webhook_endpoint e ON e.id = d.target
        WHERE (e.open_until IS NULL OR e.open_until <= now())
          AND NOT EXISTS (SELECT 1 FROM webhook_delivery i WHERE i.target = d.target AND i.leased_until > now())) AS "oldestDueSeconds"`;
  return states.parse(row);
}
