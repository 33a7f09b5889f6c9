import { z } from 'zod';
import { modelSchema, storedTimingsSchema } from './catalogue.ts';
import type { Model } from './catalogue.ts';

/** What a generation was sold as; frozen at creation, so that a new catalogue changes nothing under way. */
export const planSchema = z.object({
  method: modelSchema.shape.method,
  routes: modelSchema.shape.routes,
  timings: storedTimingsSchema,
  expectedDurationSeconds: z.int().positive(),
  outputs: z.object({
    count: z.int().positive(),
    mediaTypes: z.array(z.string()),
    maxBytes: z.int().positive(),
  }),
  creditsTotal: z.int().positive(),
});
export type Plan = z.infer<typeof planSchema>;

/** The plan of one generation of this model at this price, in whole credits. */
export function freezePlan(model: Model, creditsTotal: number): Plan {
  return {
    method: model.method,
    routes: model.routes,
    timings: model.timings,
    expectedDurationSeconds: model.expectedDurationSeconds,
    outputs: model.outputs,
    creditsTotal,
  };
}
