import { findPauseOf } from '../db/pauses.ts';
import type { JsonObject } from '../domain/json.ts';
import type { ServiceContext } from './context.ts';
import { priceRequest, type RequestRefusal } from './price-request.ts';
import { readCredits } from './read-credits.ts';

export interface Quote {
  readonly model: string;
  readonly account: string;
  readonly credits: number;
  readonly creditsPerOutput: number;
  readonly outputs: number;
  /** null = there is no such account (yet). */
  readonly available: number | null;
  /** Nothing new of this model or tenant is taken now. */
  readonly paused: boolean;
}

export type QuoteGenerationOutcome = { readonly outcome: 'quoted'; readonly quote: Quote } | RequestRefusal;

/** What this body would cost as a generation now; holds and starts nothing. */
export async function quoteGeneration(
  ctx: Pick<ServiceContext, 'db' | 'catalogue' | 'checkUrl'>,
  input: { readonly tenantId: string; readonly body: JsonObject },
): Promise<QuoteGenerationOutcome> {
  const priced = priceRequest(ctx, input.body);
  if (priced.outcome !== 'ok') return priced;
  const { model, request, price } = priced;
  const { account } = request;
  const { tenantId } = input;
  const [balance, paused] = await Promise.all([
    readCredits(ctx, { tenantId, account }),
    findPauseOf(ctx.db, { tenantId, model: model.id }),
  ]);
  return {
    outcome: 'quoted',
    quote: {
      model: model.id,
      account,
      ...price,
      available: balance?.available ?? null,
      paused: paused !== null,
    },
  };
}
