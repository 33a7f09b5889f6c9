import { refundGeneration as recordRefund, type Refunded } from '../db/index.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';

/** Gives captured credits back: once per generation and reason, together never more than was captured. */
export async function refundGeneration(
  ctx: Pick<ServiceContext, 'db'>,
  input: {
    readonly id: string;
    /** null = all that is left. */
    readonly credits: number | null;
    readonly reason: string;
    readonly note: string | null;
    readonly actor: string;
  },
): Promise<Refunded> {
  const { id: generationId, ...refund } = input;
  if (!GENERATION_ID.test(generationId)) return { outcome: 'not_found' };
  return recordRefund(ctx.db, { generationId, ...refund });
}
