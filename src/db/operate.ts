import { z } from 'zod';
import type { Db } from './client.ts';
import { runFactsSchema } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

/** Sets a run aside for a person, with a fixed reason code; the hold stays. */
export function parkGeneration(
  db: Db,
  params: { readonly generationId: string; readonly reason: string; readonly dueInMs: number },
): Promise<{ terminal: boolean }> {
  return db.call('park_generation', { ...params }, z.object({ terminal: z.boolean() }));
}

/** What a pass of the sweep has to wake; a row that cannot be read is named, and stops none of the others. */
export interface DueGenerations {
  readonly runs: readonly RunFacts[];
  readonly unreadable: readonly string[];
}

/** Overdue rows and wakes not taken, each pushed back, so that sweepers share the work. */
export async function claimDueGenerations(
  db: Db,
  params: { readonly limit: number; readonly graceMs: number },
): Promise<DueGenerations> {
  const rows = await db.call(
    'claim_due_generations',
    { ...params },
    z.array(z.object({ generationId: z.string() }).loose()),
  );
  const parsed = rows.map((row) => ({ id: row.generationId, facts: runFactsSchema.safeParse(row) }));
  return {
    runs: parsed.flatMap(({ facts }) => (facts.success ? [facts.data] : [])),
    unreadable: parsed.flatMap(({ id, facts }) => (facts.success ? [] : [id])),
  };
}

/** Gives one back after its run could not be ensured: due again soon, the pass does not count. */
export async function releaseDueGeneration(db: Db, generationId: string): Promise<void> {
  await db.call('release_due_generation', { generationId }, z.boolean());
}

/** How many jobs are waited for, by provider. */
export function countWaitingJobs(db: Db): Promise<Record<string, number>> {
  return db.call('waiting_jobs', {}, z.record(z.string(), z.number()));
}
