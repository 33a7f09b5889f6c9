import { findGeneration } from '../db/index.ts';
import { viewGeneration, type GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';
import { generationFacts } from './generation-facts.ts';

/** The generation as its tenant sees it, or null: malformed, unknown and another tenant's ids are one answer. */
export async function getGeneration(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  input: { readonly tenantId: string; readonly id: string },
): Promise<GenerationView | null> {
  if (!GENERATION_ID.test(input.id)) return null;
  const row = await findGeneration(ctx.db, input.tenantId, input.id);
  return row === null ? null : viewGeneration(generationFacts(row, ctx.links));
}
