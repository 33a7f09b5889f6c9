import { findRunFacts } from '../db/index.ts';
import type { Db, RunFacts } from '../db/index.ts';

/** Wakes the run of a generation that has not ended, or starts it again when it was lost. */
export async function wakeGeneration(
  ctx: { readonly db: Db; readonly ensure: (run: RunFacts) => Promise<void> },
  generationId: string,
): Promise<'woken' | 'ended' | 'not_found'> {
  const found = await findRunFacts(ctx.db, generationId);
  if (found === null) return 'not_found';
  if (found.ended) return 'ended';
  await ctx.ensure(found.run);
  return 'woken';
}
