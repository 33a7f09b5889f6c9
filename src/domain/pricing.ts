import type { Model } from './catalogue.ts';
import type { InputSpec } from './input-fields.ts';
import type { JsonObject } from './json.ts';
import type { Conditions, CostRule, PriceRule } from './price-rule.ts';
import { countCharacters } from './text.ts';

/** What a generation costs, in whole credits. */
export interface Price {
  readonly credits: number;
  readonly creditsPerOutput: number;
  /** How many outputs one provider job is asked for. */
  readonly outputs: number;
}

/** Parsed input: defaults are in it, so that the price sees what the provider gets. */
type Input = JsonObject;

function holds(when: Conditions, input: Input): boolean {
  return Object.entries(when).every(([field, value]) => input[field] === value);
}

/** Numerator and denominator of the quantity that the rule multiplies with. @throws RangeError when it is not there. */
function quantityOf(per: PriceRule['per'], input: Input): readonly [bigint, bigint] {
  switch (per) {
    case 'second':
      return [wholeNumber(input, 'duration_seconds'), 1n];
    case 'output':
      return [1n, 1n];
    case 'thousand_characters': {
      const text = input['text'];
      if (typeof text !== 'string') throw new RangeError('the price needs the input field "text"');
      return [BigInt(countCharacters(text)), 1_000n];
    }
  }
}

function wholeNumber(input: Input, field: 'duration_seconds' | 'count'): bigint {
  const value = input[field];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new RangeError(`the price needs the input field "${field}", a whole number`);
}

function outputsOf(input: Input): bigint {
  return input['count'] === undefined ? 1n : wholeNumber(input, 'count');
}

/**
 * The price of one generation by the rule, in whole credits; the formula is told at `priceRuleSchema`.
 * @throws RangeError when no rate fits, the quantity is missing, or the price is no whole number from 1 to 2^53 − 1; with a
 * checked catalogue and a checked input there is none of these.
 */
export function priceOf(rule: PriceRule, input: Input): Price {
  const rate = rule.rates.find(({ when }) => holds(when, input));
  if (rate === undefined) throw new RangeError('the price rule has no rate for this input');
  const [quantity, per] = quantityOf(rule.per, input);
  let numerator = BigInt(rate.millicredits) * quantity;
  let denominator = 1_000n * per;
  for (const { when, percent } of rule.adjustments) {
    if (!holds(when, input)) continue;
    numerator *= BigInt(percent);
    denominator *= 100n;
  }
  const each = (numerator + denominator - 1n) / denominator;
  const outputs = outputsOf(input);
  const credits = each * outputs;
  if (credits < 1n || credits > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError('the price is not a whole number of credits from 1 to 2^53 − 1');
  }
  return { credits: Number(credits), creditsPerOutput: Number(each), outputs: Number(outputs) };
}

/** What the provider is expected to bill for it: a decimal text in the rule's unit, exact to ten decimals. */
export function estimateCost(
  rule: CostRule | null,
  input: Input,
): { readonly amount: string; readonly unit: string } | null {
  if (rule === null) return null;
  const { amount } = rule.rates?.find(({ when }) => holds(when, input)) ?? rule;
  const [whole, fraction = ''] = amount.split('.') as [string, string?];
  const [quantity, per] = quantityOf(rule.per, input);
  // Amounts have at most ten decimals; one thousandth of them needs thirteen, cut to ten downwards.
  const scaled = (BigInt(whole + fraction.padEnd(10, '0')) * quantity * outputsOf(input)) / per;
  const digits = scaled.toString().padStart(11, '0');
  const decimals = digits.slice(-10).replace(/0+$/, '');
  return { amount: digits.slice(0, -10) + (decimals === '' ? '' : `.${decimals}`), unit: rule.unit };
}

/**
 * The cheapest and the dearest quantity of a model with every combination of its priced choices, for checking its rule;
 * null when these are more than `max`.
 */
export function pricedInputs(spec: InputSpec, rule: PriceRule, max: number): readonly Input[] | null {
  const used = new Set([...rule.rates, ...rule.adjustments].flatMap(({ when }) => Object.keys(when)));
  let inputs: Input[] = [quantityInput(spec, 'min'), quantityInput(spec, 'max')];
  for (const field of used) {
    const values = valuesOf(spec, field);
    if (inputs.length * values.length > max) return null;
    inputs = inputs.flatMap((input) => values.map((value) => ({ ...input, [field]: value })));
  }
  return inputs;
}

/** Every value that a choice or flag can have; empty when the model has no such field. */
export function valuesOf(spec: InputSpec, field: string): readonly (string | boolean)[] {
  const entry = spec[field as keyof InputSpec];
  if (entry === undefined) return [];
  if ('values' in entry) return entry.values.filter((value) => typeof value === 'string');
  return 'default' in entry && typeof entry.default === 'boolean' ? [false, true] : [];
}

function quantityInput(spec: InputSpec, end: 'min' | 'max'): Input {
  const { duration_seconds: duration, text, count } = spec;
  const seconds =
    duration === undefined ? undefined : 'values' in duration ? Math[end](...duration.values) : duration[end];
  return {
    ...(seconds === undefined ? {} : { duration_seconds: seconds }),
    ...(text === undefined ? {} : { text: 'x'.repeat(end === 'min' ? 1 : text.maxCharacters) }),
    ...(count === undefined ? {} : { count: end === 'min' ? 1 : count.max }),
  };
}

/** The seconds that are priced, which the rendered output is compared with; null when the model has no duration. */
export function pricedSeconds(model: Pick<Model, 'input'>, input: Input): number | null {
  return model.input.duration_seconds === undefined ? null : Number(wholeNumber(input, 'duration_seconds'));
}
