import { z } from 'zod';

/** Fields that a price may depend on, beside the quantity it is multiplied with. */
export const PRICED_FIELDS = ['resolution', 'aspect_ratio', 'mode', 'voice', 'audio', 'upscale'] as const;
export type PricedField = (typeof PRICED_FIELDS)[number];

const condition = z.union([z.string(), z.boolean()], 'must be a value of that field: a text, true or false');
/** All of them must hold; none = always. */
const conditionsSchema = z.partialRecord(z.enum(PRICED_FIELDS), condition);
export type Conditions = z.infer<typeof conditionsSchema>;

const MAX_MILLICREDITS = 1_000_000_000_000;

/**
 * A price as data. One output costs
 * `ceil(millicredits × quantity × percent₁ × … × percentₙ ÷ (1000 × 100ⁿ))` whole credits: the rate is the first whose
 * `when` holds, each adjustment whose `when` holds gives a percent, and the only rounding is this one, upwards.
 * The quantity is the seconds of `duration_seconds`, 1 per output, or the characters (code points) of `text` ÷ 1000.
 * The generation costs that times the number of outputs.
 */
export const priceRuleSchema = z.strictObject({
  per: z.enum(['second', 'output', 'thousand_characters']),
  rates: z
    .array(
      z.strictObject({
        when: conditionsSchema.default({}),
        millicredits: z.int().min(1).max(MAX_MILLICREDITS),
      }),
    )
    .min(1)
    .max(100),
  adjustments: z
    .array(z.strictObject({ when: conditionsSchema, percent: z.int().min(1).max(10_000) }))
    .max(20)
    .default([]),
});
export type PriceRule = z.infer<typeof priceRuleSchema>;

const decimal = z.string().regex(/^\d{1,12}(\.\d{1,10})?$/, 'must be a decimal number as text, like "0.05"');

/** What a provider is expected to bill, per the same quantity; an estimate until the provider tells. */
export const costRuleSchema = z.strictObject({
  per: z.enum(['second', 'output', 'thousand_characters']),
  /** Of every input that none of `rates` is for. */
  amount: decimal,
  /** The first whose `when` holds stands in for `amount`. */
  rates: z
    .array(z.strictObject({ when: conditionsSchema, amount: decimal }))
    .max(100)
    .optional(),
  /** The provider's own unit: USD, credits, units. */
  unit: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/),
});
export type CostRule = z.infer<typeof costRuleSchema>;
