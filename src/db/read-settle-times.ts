import type { Db } from './client.ts';

/** How long the end of one generation took; null where there was no such moment. */
export interface SettleTimes {
  readonly provider: string;
  /** Since the first callback that told the end of its job. */
  readonly sinceCallbackMs: number | null;
  /** Since the look that first saw the success. */
  readonly sinceSuccessMs: number | null;
}

/** Of an ended generation with a submission; null for any other. */
export async function readSettleTimes(db: Db, generationId: string): Promise<SettleTimes | null> {
  const [times] = await db.prisma.$queryRaw<SettleTimes[]>`
    SELECT s.provider, extract(epoch FROM g.completed_at - (SELECT min(c.received_at) FROM callback c
        WHERE c.submission_id = s.id AND c.terminal))::float8 * 1000 AS "sinceCallbackMs",
      extract(epoch FROM g.completed_at - g.success_at)::float8 * 1000 AS "sinceSuccessMs"
    FROM generation g JOIN submission s ON s.generation_id = g.id
    WHERE g.id = ${generationId} AND g.completed_at IS NOT NULL ORDER BY s.ordinal DESC LIMIT 1`;
  return times ?? null;
}
