import { eraseGeneration as eraseGenerationOf } from '../db/index.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';
import { getGeneration } from './get-generation.ts';

export type EraseGenerationOutcome =
  | { readonly outcome: 'erased'; readonly generation: GenerationView }
  | { readonly outcome: 'not_found' | 'not_terminal' };

/** What was asked for is taken out of every row, for good; credits, times and outputs stay. Repeating it changes nothing. */
export async function eraseGeneration(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  input: { readonly tenantId: string; readonly id: string },
): Promise<EraseGenerationOutcome> {
  if (!GENERATION_ID.test(input.id)) return { outcome: 'not_found' };
  const { outcome } = await eraseGenerationOf(ctx.db, { generationId: input.id, tenantId: input.tenantId });
  if (outcome !== 'erased') return { outcome };
  const generation = await getGeneration(ctx, input);
  return generation === null ? { outcome: 'not_found' } : { outcome, generation };
}
