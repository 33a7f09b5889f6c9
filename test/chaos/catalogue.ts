import { isDeepStrictEqual } from 'node:util';
import { catalogueSchema, type Model } from '../../src/domain/catalogue.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Timings } from '../../src/domain/timings.ts';
import {
  fastModel,
  polledModel,
  PROVIDER_ROWS,
  providerCatalogue,
  routeOf,
} from '../support/provider-models.ts';

/** Characters of a prompt that are accepted by the model `large`. */
export const LARGEST_PROMPT = 100_000;
/** Credits that the model `infro` costs: four seconds of video. No other one costs more. */
export const PRICE = 40;

/** Short, so that what nobody finds again ends by its deadline; long enough for two cores on which everything runs. */
const timings: Partial<Timings> = {
  submitHttpTimeoutMs: 5_000,
  submitLeaseMs: 7_000,
  // Of a worker that died in a submit nobody else takes the step over before this.
  submitStartToCloseMs: 12_000,
  observeHttpTimeoutMs: 3_000,
  firstPollMs: 5_000,
  safetyPollMs: 5_000,
  pollMaxMs: 1_500,
  storeForMs: 60_000,
  storeLeaseMs: 4_000,
  lateObservationsMs: [3_000, 10_000, 20_000],
  // A provider whose link was cut has failed often, and is asked again soon after.
  circuitFailures: 20,
  circuitOpenMs: 1_000,
};

function modelOf(id: string): Model {
  const model = providerCatalogue.models.find((one) => one.id === id);
  if (model === undefined) throw new Error(`test/support/provider-models.ts has no model ${id}`);
  return { ...model, timings: { ...model.timings, ...timings } };
}

/** Every provider there is: its model, and polled where it offers callbacks. */
const single = PROVIDER_ROWS.flatMap((row) => [...new Set([row.name, polledModel(row)])].map(modelOf));

/** Two neighbours whose models take the same input, as one model with two routes. */
function pairsOf(models: readonly Model[]): Model[] {
  const [first, ...others] = models;
  if (first === undefined) return [];
  const second = others.find(
    ({ method, input, outputs }) =>
      method === first.method && isDeepStrictEqual([input, outputs], [first.input, first.outputs]),
  );
  if (second === undefined) return pairsOf(others);
  const pair = { ...first, id: `${first.id}-or-${second.id}`, routes: [...first.routes, ...second.routes] };
  return [{ ...pair, title: pair.id }, ...pairsOf(others.filter((model) => model !== second))];
}

const large = fastModel('large', [routeOf('infro')], timings, {
  input: {
    prompt: { maxCharacters: LARGEST_PROMPT },
    duration_seconds: { min: 3, max: 10, default: 4 },
  },
});

/** Makes several outputs of one job, and what each of them costs in credits. */
export const MANY = 'images';
export const MANY_OUTPUTS = 4;
export const MANY_PRICE = 5;
/** Works from an image. */
export const FROM_IMAGE = 'animate';

/** All providers, with callbacks and polled, models that two of them make, several outputs, an input file, large prompts. */
export const chaosCatalogue = catalogueSchema.parse({
  models: [
    ...single,
    ...pairsOf(PROVIDER_ROWS.map(({ name }) => modelOf(name))),
    modelOf(MANY),
    modelOf(FROM_IMAGE),
    large,
  ],
});

/** What is usually asked for. */
export const USUAL_MODELS: readonly string[] = chaosCatalogue.models
  .map(({ id }) => id)
  .filter((id) => id !== 'large' && id !== FROM_IMAGE);

/** What a tenant sends to this model: the prompt, for a length its default, all outputs, and the image to begin with. */
export function inputFor(modelId: string, prompt: string, image: string | null = null): JsonObject {
  const length = chaosCatalogue.models.find(({ id }) => id === modelId)?.input.duration_seconds;
  return {
    prompt,
    ...(length === undefined ? {} : { duration_seconds: length.default }),
    ...(modelId === MANY ? { count: MANY_OUTPUTS } : {}),
    ...(image === null ? {} : { image_url: image }),
  };
}

/** Whether jobs of this model at this provider are asked for: nothing tells of their end. */
export function isPolled(modelId: string, provider: string): boolean {
  const model = chaosCatalogue.models.find(({ id }) => id === modelId);
  const offers = PROVIDER_ROWS.find(({ name }) => name === provider)?.callbacks === true;
  return !offers || model?.routes.find((route) => route.provider === provider)?.callbacks === false;
}
