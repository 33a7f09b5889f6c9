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

/** Overdue rows and wakes not taken, each pushed back, so that sweepers share the work. */
export function claimDueGenerations(
  db: Db,
  params: { readonly limit: number; readonly graceMs: number },
): Promise<RunFacts[]> {
  return db.call('claim_due_generations', { ...params }, z.array(runFactsSchema));
}
