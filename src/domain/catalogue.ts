import { z } from 'zod';
import { inputSpecSchema, METHODS } from './input-fields.ts';
import { costRuleSchema, priceRuleSchema } from './price-rule.ts';
import { timingsSchema } from './timings.ts';

/** A member of a provider's own request body, from the catalogue. */
const params = z.record(z.string().min(1).max(100), z.json());

export const routeSchema = z.strictObject({
  provider: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/),
  providerModel: z.string().min(1).max(200),
  /** false = this route is polled only, whatever the provider offers. */
  callbacks: z.boolean().default(true),
  /** Merged into the provider's request body. */
  params: params.default({}),
  /** What the provider is expected to bill; null = not known before it tells. */
  cost: costRuleSchema.nullable().default(null),
});
export type Route = z.infer<typeof routeSchema>;

/** One model of the catalogue. Credits are whole numbers; `input` bounds what a tenant may send. */
export const modelSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,63}$/),
  title: z.string().min(1).max(200),
  method: z.enum(METHODS),
  /** In the order in which they are tried. */
  routes: z.array(routeSchema).min(1).max(10),
  input: inputSpecSchema,
  price: priceRuleSchema,
  outputs: z
    .strictObject({
      mediaTypes: z
        .array(z.string().regex(/^[a-z]+\/[a-z0-9.+-]+$/))
        .min(1)
        .max(20),
      maxBytes: z.int().positive().default(2_147_483_648),
    })
    .prefault({ mediaTypes: ['video/mp4'] }),
  expectedDurationSeconds: z.int().positive().max(86_400),
  deadlineSeconds: z.strictObject({
    default: z.int().positive().max(2_592_000),
    max: z.int().positive().max(2_592_000),
  }),
  timings: timingsSchema,
});
export type Model = z.infer<typeof modelSchema>;

export const catalogueSchema = z.strictObject({ models: z.array(modelSchema).min(1).max(1_000) });
export type Catalogue = z.infer<typeof catalogueSchema>;
