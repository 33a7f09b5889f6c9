import type { Catalogue, Model } from '../domain/catalogue.ts';
import { hasMainField } from '../domain/input-schema.ts';
import { MAIN_FIELD, type InputField } from '../domain/input-fields.ts';
import type { Conditions, PricedField, PriceRule } from '../domain/price-rule.ts';
import { pricedInputs, priceOf, valuesOf } from '../domain/pricing.ts';
import type { Provider } from '../domain/provider.ts';

/** What is wrong at one place of the catalogue; `path` as in the file: models, 0, price … */
export interface CatalogueProblem {
  readonly path: readonly (string | number)[];
  readonly problem: string;
}

const MAX_COMBINATIONS = 10_000;

/** The input field that a quantity is read from. */
const QUANTITY_FIELD: Readonly<Partial<Record<PriceRule['per'], InputField>>> = {
  second: 'duration_seconds',
  thousand_characters: 'text',
};

/** What contradicts itself beyond the shape of its fields. */
export function findContradictions({ models }: Catalogue): CatalogueProblem[] {
  return models.flatMap((model, index) => [
    ...(models.findIndex(({ id }) => id === model.id) < index
      ? [{ path: ['models', index, 'id'], problem: `"${model.id}" is there twice` }]
      : []),
    ...contradictionsOf(model).map(({ path, problem }) => ({ path: ['models', index, ...path], problem })),
  ]);
}

/** Routes that a registered provider cannot serve: no such provider, not this method, not this input field. */
export function findUnservedRoutes(
  { models }: Catalogue,
  providers: ReadonlyMap<string, Pick<Provider, 'methods'>>,
): CatalogueProblem[] {
  return models.flatMap((model, index) =>
    model.routes.flatMap((route, place): CatalogueProblem[] => {
      const path = ['models', index, 'routes', place, 'provider'];
      const methods = providers.get(route.provider)?.methods;
      if (methods === undefined) {
        return [
          {
            path,
            problem: `"${route.provider}" is no provider; use one of ${[...providers.keys()].join(', ')}`,
          },
        ];
      }
      const taken = methods[model.method];
      if (taken === undefined) return [{ path, problem: `${route.provider} does not offer ${model.method}` }];
      return Object.keys(model.input)
        .filter((field) => !taken.includes(field as InputField))
        .map((field) => ({
          path: ['models', index, 'input', field],
          problem: `${route.provider} takes no "${field}" for ${model.method}: remove the field or the route`,
        }));
    }),
  );
}

function contradictionsOf(model: Model): CatalogueProblem[] {
  const found: CatalogueProblem[] = [];
  const say = (path: CatalogueProblem['path'], problem: string) => found.push({ path, problem });
  const { duration_seconds: duration, count } = model.input;
  if (duration !== undefined) {
    const fits =
      'values' in duration
        ? duration.values.includes(duration.default)
        : duration.min <= duration.default && duration.default <= duration.max;
    if (!fits)
      say(
        ['input', 'duration_seconds'],
        'the default must be one of the values it allows, min ≤ default ≤ max',
      );
  }
  for (const [field, spec] of Object.entries(model.input)) {
    if (
      spec !== undefined &&
      'values' in spec &&
      typeof spec.default === 'string' &&
      !spec.values.some((value) => value === spec.default)
    ) {
      say(['input', field, 'default'], 'must be one of the values');
    }
    if (spec !== undefined && 'minSide' in spec && spec.minSide > spec.maxSide) {
      say(['input', field], 'minSide must not be above maxSide');
    }
  }
  if (count !== undefined && count.default > count.max)
    say(['input', 'count'], 'default must not be above max');
  if (model.deadlineSeconds.default > model.deadlineSeconds.max) {
    say(['deadlineSeconds'], 'default must not be above max');
  }
  // No submit starts later than the deadline minus the expected duration.
  if (model.deadlineSeconds.default <= model.expectedDurationSeconds) {
    say(
      ['deadlineSeconds', 'default'],
      'must be above expectedDurationSeconds, else nothing is ever submitted',
    );
  }
  if (!hasMainField(model)) say(['input'], `${model.method} needs a required "${MAIN_FIELD[model.method]}"`);
  const shape = conditionProblems(model);
  found.push(...shape);
  if (shape.length === 0) found.push(...priceProblems(model));
  return found;
}

/** Quantities that the input does not have, conditions that no input can meet, rates that are never reached. */
function conditionProblems({ input, price, routes }: Model): CatalogueProblem[] {
  const found: CatalogueProblem[] = [];
  const need = (per: PriceRule['per'], path: CatalogueProblem['path']) => {
    const field = QUANTITY_FIELD[per];
    const spec = field === undefined ? {} : input[field];
    if (spec === undefined) found.push({ path, problem: `needs the input field "${field}"` });
    else if ('required' in spec && !spec.required)
      found.push({ path, problem: `needs the input field "${field}" to be required` });
  };
  const check = (when: Conditions, path: CatalogueProblem['path']) => {
    for (const [name, value] of Object.entries(when)) {
      const values = valuesOf(input, name);
      if (values.includes(value)) continue;
      const problem =
        values.length === 0
          ? `the model has no input field "${name}"`
          : `"${String(value)}" is not a value of "${name}": ${values.join(', ')}`;
      found.push({ path: [...path, 'when', name], problem });
    }
  };
  const checkRates = (rates: readonly { when: Conditions }[], path: CatalogueProblem['path']) =>
    rates.forEach(({ when }, i) => {
      check(when, [...path, i]);
      const before = rates.slice(0, i).findIndex((rate) => implies(when, rate.when));
      if (before >= 0)
        found.push({ path: [...path, i], problem: `is never used: rates[${before}] always holds first` });
    });
  need(price.per, ['price', 'per']);
  routes.forEach(({ cost }, i) => {
    if (cost === null) return;
    need(cost.per, ['routes', i, 'cost', 'per']);
    checkRates(cost.rates ?? [], ['routes', i, 'cost', 'rates']);
  });
  checkRates(price.rates, ['price', 'rates']);
  price.adjustments.forEach(({ when }, i) => check(when, ['price', 'adjustments', i]));
  return found;
}

/** True when wherever the first conditions hold, the second do. */
function implies(first: Conditions, second: Conditions): boolean {
  return Object.entries(second).every(([field, value]) => first[field as PricedField] === value);
}

/** Prices every combination of what the price depends on, at its shortest and longest. */
function priceProblems({ input, price }: Model): CatalogueProblem[] {
  const inputs = pricedInputs(input, price, MAX_COMBINATIONS);
  if (inputs === null) {
    return [{ path: ['price'], problem: `depends on more than ${MAX_COMBINATIONS} combinations of input` }];
  }
  for (const one of inputs) {
    try {
      priceOf(price, one);
    } catch (error) {
      const shown = Object.entries(one)
        .filter(([field]) => field !== 'text')
        .map(([field, value]) => `${field}=${JSON.stringify(value)}`);
      return [
        {
          path: ['price', 'rates'],
          problem: `${(error as Error).message} (${shown.join(', ') || 'any input'})`,
        },
      ];
    }
  }
  return [];
}
