import type { QuoteGenerationOutcome } from '../../../services/quote-generation.ts';
import { Problem } from '../../problems.ts';
import { invalidRequest } from '../../validation.ts';

type Refusal = Exclude<QuoteGenerationOutcome, { readonly outcome: 'quoted' }>;

/** What a body is refused for before anything is written; the same for a quote and for the generation itself. */
export function requestProblem(refusal: Refusal): Problem {
  switch (refusal.outcome) {
    case 'invalid':
      return invalidRequest(refusal.errors);
    case 'unknown_model':
      return new Problem('unknown_model', 'Use the id of a model that GET /v1/models lists.', {
        errors: [{ path: '/model', message: 'Not the id of a model.' }],
      });
    case 'price_changed':
      return new Problem(
        'price_changed',
        'Raise max_credits to the price, or leave it out. Nothing was held.',
        { extensions: { price: refusal.price, max_credits: refusal.maxCredits } },
      );
  }
}
