import { z } from 'zod';
import { modelSchema } from './catalogue.ts';
import type { Model, Route } from './catalogue.ts';
import type { JsonObject } from './json.ts';
import { priceRuleSchema } from './price-rule.ts';
import { estimateCost, pricedSeconds, type Price } from './pricing.ts';
import { storedTimingsSchema } from './timings.ts';

/** A route as it was frozen. */
const storedRoute = z.object({
  provider: z.string().min(1),
  providerModel: z.string().min(1),
  callbacks: z.boolean().default(true),
  params: z.record(z.string(), z.json()).default({}),
  /** What the provider is expected to bill; null = not known. */
  estimatedCost: z.object({ amount: z.string(), unit: z.string() }).nullable().default(null),
});

/** What a generation was sold as; frozen at creation, so that a new catalogue changes nothing under way. */
export const planSchema = z.object({
  method: modelSchema.shape.method,
  routes: z.array(storedRoute).min(1),
  timings: storedTimingsSchema,
  expectedDurationSeconds: z.int().positive(),
  outputs: z.object({
    count: z.int().positive(),
    mediaTypes: z.array(z.string()),
    maxBytes: z.int().positive(),
  }),
  creditsTotal: z.int().positive(),
  /** Missing in plans of version 0.1: the total by the number of outputs. */
  creditsPerOutput: z.int().positive().optional(),
  /** The seconds that were priced; null where there are none. */
  pricedSeconds: z.number().nullable().default(null),
  /** The tenant named the provider, so it may see it. */
  providerChosen: z.boolean().default(false),
  /** The rule that gave the price, for whoever asks later; never computed with again. */
  price: priceRuleSchema.nullable().default(null).catch(null),
});
export type Plan = z.infer<typeof planSchema>;
/** What answers need of it. The timings and rules beside are not looked at: that was a tenth of the work of a list. */
export const shownPlanSchema = planSchema.pick({
  method: true,
  expectedDurationSeconds: true,
  providerChosen: true,
});
/** As it is written today: a plain JSON object with the price of one output. */
export type FrozenPlan = JsonObject & Omit<Plan, 'creditsPerOutput'> & { readonly creditsPerOutput: number };

/** What the plan of one generation is made of. */
export interface Sold {
  readonly model: Model;
  /** The routes that this generation may take, in order. */
  readonly routes: readonly Route[];
  readonly providerChosen: boolean;
  readonly input: JsonObject;
  readonly price: Price;
}

/** The plan of one generation, frozen with it. */
export function freezePlan({ model, routes, providerChosen, input, price }: Sold): FrozenPlan {
  const plan = {
    method: model.method,
    routes: routes.map(({ provider, providerModel, callbacks, params, cost }) => ({
      provider,
      providerModel,
      callbacks,
      params,
      estimatedCost: estimateCost(cost, input),
    })),
    timings: model.timings,
    expectedDurationSeconds: model.expectedDurationSeconds,
    outputs: { count: price.outputs, ...model.outputs },
    creditsTotal: price.credits,
    creditsPerOutput: price.creditsPerOutput,
    pricedSeconds: pricedSeconds(model, input),
    providerChosen,
    price: model.price,
  };
  return plan;
}
