import { resolveGeneration as recordResolution, type Resolved } from '../db/index.ts';
import type { FailedCode } from '../domain/errors.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';

/** The end of a generation by a person, as far as the rows allow it; its run is woken, so that it ends too. */
export async function resolveGeneration(
  ctx: Pick<ServiceContext, 'db' | 'starter'>,
  input: {
    readonly id: string;
    readonly state: 'failed' | 'succeeded';
    /** For `failed`. After an observed success the rows decide instead. */
    readonly errorCode: FailedCode | null;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<Resolved> {
  const { id: generationId, ...resolution } = input;
  if (!GENERATION_ID.test(generationId)) return { outcome: 'not_found' };
  const resolved = await recordResolution(ctx.db, { generationId, ...resolution });
  if (resolved.outcome === 'resolved') ctx.starter.enqueue(resolved.run, 'operator');
  return resolved;
}
