import { deleteOutputs as deleteOutputsOf } from '../db/index.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';
import { getGeneration } from './get-generation.ts';

export type DeleteOutputsOutcome =
  | { readonly outcome: 'deleting'; readonly generation: GenerationView }
  | { readonly outcome: 'not_found' | 'not_terminal' };

/** Links are dead at once, the files go soon after; the status stays readable. Repeating it changes nothing. */
export async function deleteOutputs(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  input: { readonly tenantId: string; readonly id: string },
): Promise<DeleteOutputsOutcome> {
  if (!GENERATION_ID.test(input.id)) return { outcome: 'not_found' };
  const { outcome } = await deleteOutputsOf(ctx.db, { generationId: input.id, tenantId: input.tenantId });
  if (outcome !== 'deleting') return { outcome };
  const generation = await getGeneration(ctx, input);
  return generation === null ? { outcome: 'not_found' } : { outcome, generation };
}
