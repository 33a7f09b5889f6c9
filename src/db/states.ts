import { z } from 'zod';
import type { Db } from './client.ts';

const states = z.object({
  stages: z.array(z.object({ stage: z.string(), count: z.int(), oldestSeconds: z.number() })),
  backlog: z.int(),
  overdue: z.int(),
  stubborn: z.int(),
  overdueHolds: z.int(),
  strayJobs: z.int(),
  violations: z.string().nullable(),
  checkedSeconds: z.number().nullable(),
});
/** How the open generations stand. */
export type SweepStates = z.infer<typeof states>;

/**
 * Open generations by stage with the age of the oldest, what is overdue, and what the last check of invariants found.
 * @param graceMs how long a row may be overdue before it counts as backlog
 */
export async function readSweepStates(db: Db, graceMs: number): Promise<SweepStates> {
  const [row] = await db.prisma.$queryRaw<{ states: unknown }[]>`
    SELECT sweep_states(jsonb_build_object('graceMs', ${graceMs}::int)) AS states`;
  return states.parse(row?.states);
}
