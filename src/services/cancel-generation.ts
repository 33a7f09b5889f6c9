import { requestCancel, type LimitReached } from '../db/index.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';
import { getGeneration } from './get-generation.ts';

export type CancelGenerationOutcome =
  | { readonly outcome: 'cancelled' | 'requested'; readonly generation: GenerationView }
  | { readonly outcome: 'already_terminal' | 'not_found' }
  | LimitReached;

/** Settled at once while no provider can have the job; else the run asks the provider, whose answer decides. */
export async function cancelGeneration(
  ctx: Pick<ServiceContext, 'db' | 'links' | 'starter'>,
  input: { readonly tenantId: string; readonly id: string },
): Promise<CancelGenerationOutcome> {
  if (!GENERATION_ID.test(input.id)) return { outcome: 'not_found' };
  const cancel = await requestCancel(ctx.db, {
    generationId: input.id,
    tenantId: input.tenantId,
    actor: 'tenant',
  });
  if (cancel.wake && cancel.run !== null) ctx.starter.enqueue(cancel.run, 'cancel');
  if (cancel.outcome === 'not_found' || cancel.outcome === 'already_terminal')
    return { outcome: cancel.outcome };
  if (cancel.outcome === 'limit_reached') return cancel;
  const generation = await getGeneration(ctx, input);
  return generation === null ? { outcome: 'not_found' } : { outcome: cancel.outcome, generation };
}
