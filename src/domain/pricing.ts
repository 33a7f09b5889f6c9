import type { Model } from './catalogue.ts';

/** Whole credits for one generation: credits per second times its duration. The catalogue keeps it ≤ 2^53 − 1. */
export function priceInCredits(model: Model, durationSeconds: number): number {
  return model.price.creditsPerSecond * durationSeconds;
}
