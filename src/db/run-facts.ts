import { z } from 'zod';
import { storedTimingsSchema } from '../domain/timings.ts';
import type { Db } from './client.ts';

/** All that is needed to start or wake a run: ids and frozen timings, nothing of the tenant's content. */
export const runFactsSchema = z.object({
  generationId: z.string(),
  tenantId: z.string(),
  accountId: z.string(),
  model: z.string(),
  provider: z.string(),
  method: z.string(),
  timings: storedTimingsSchema,
  /** From 1 (first) to 5; told at creation only, the middle without it. */
  priority: z.int().min(1).max(5).optional(),
});
export type RunFacts = z.infer<typeof runFactsSchema>;

/** What a run of this generation is started with, and whether it has ended; null when there is none. */
export async function findRunFacts(
  db: Db,
  generationId: string,
): Promise<{ run: RunFacts; ended: boolean } | null> {
  const rows = await db.prisma.$queryRaw<{ run: unknown; ended: boolean }[]>`
    SELECT run_facts(g) AS run, g.completed_at IS NOT NULL AS ended FROM generation g WHERE g.id = ${generationId}`;
  const row = rows[0];
  return row === undefined ? null : { run: runFactsSchema.parse(row.run), ended: row.ended };
}
