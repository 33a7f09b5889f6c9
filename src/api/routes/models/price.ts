import { z } from 'zod';

/** The words that a frontend can compute the price from; test/api/prices.test.ts does. */
const RULE_IN_WORDS =
  'A rule that gives the price of any input, to the credit. Complete the input first: a field that is left out has the `default` of ' +
  '`input_schema`. A `when` holds if every field in it has exactly that value in the input; an empty one always holds. ' +
  '1. Rate: `millicredits` of the first of `rates` whose `when` holds. ' +
  '2. Quantity: for `per` = `second` the number `duration_seconds`; for `output` 1; for `thousand_characters` the Unicode code points of ' +
  '`text`, divided by 1000 without rounding. ' +
  '3. Multiply rate and quantity, then multiply by `percent` / 100 for every one of `adjustments` whose `when` holds. ' +
  '4. Divide by 1000 and round up to whole credits: the only rounding, and the price of one output. Compute with exact integers or ' +
  'fractions, not with floating point. ' +
  '5. The generation costs that times `count` of the input, or times 1 where the model has no `count`.';

const when = z.record(z.string(), z.union([z.string(), z.boolean()]));

/** A price rule as it is published; the same data as in the catalogue. */
export const priceSchema = z
  .object({
    per: z
      .enum(['second', 'output', 'thousand_characters'])
      .meta({ description: 'What the rate is multiplied with.' }),
    rates: z
      .array(
        z.object({
          when: when.meta({
            description: 'Field of the input → value; all must fit.',
            example: { mode: 'fast' },
          }),
          millicredits: z.int().positive().meta({ description: 'Thousandths of a credit per quantity.' }),
        }),
      )
      .meta({ description: 'The first one that fits is the rate.' }),
    adjustments: z
      .array(
        z.object({
          when: when.meta({
            description: 'Field of the input → value; all must fit.',
            example: { audio: true },
          }),
          percent: z.int().positive().meta({ description: '150 = half as much again.' }),
        }),
      )
      .meta({ description: 'Every one that fits counts.' }),
  })
  .meta({ id: 'PriceRule', description: RULE_IN_WORDS });
