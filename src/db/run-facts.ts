import { z } from 'zod';
import { timingsSchema } from '../domain/catalogue.ts';

/** All that is needed to start or wake a run: ids and frozen timings, nothing of the tenant's content. */
export const runFactsSchema = z.object({
  generationId: z.string(),
  tenantId: z.string(),
  model: z.string(),
  provider: z.string(),
  method: z.string(),
  timings: timingsSchema,
});
export type RunFacts = z.infer<typeof runFactsSchema>;
