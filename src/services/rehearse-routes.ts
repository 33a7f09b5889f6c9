import type { Catalogue, Model, Route } from '../domain/catalogue.ts';
import { inputSchema } from '../domain/input-schema.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { createProviders, PROVIDERS } from '../providers/index.ts';
import { findUnservedRoutes, type CatalogueProblem } from './check-catalogue.ts';

type Rehearsed = Pick<Provider, 'methods' | 'buildSubmit'>;

const EXAMPLES: Readonly<Record<string, string>> = {
  prompt: 'A paper boat on calm water',
  negative_prompt: 'A paper boat on calm water',
  text: 'Your table is ready.',
  image_url: 'https://example.com/rehearsal.png',
};

/**
 * Builds, without sending, the request of every route for every choice that its input allows, so that a catalogue that
 * a provider cannot be asked with is refused at the start and not at the first generation.
 */
export function rehearseRoutes(
  catalogue: Catalogue,
  providers: ReadonlyMap<string, Rehearsed>,
): CatalogueProblem[] {
  const unserved = findUnservedRoutes(catalogue, providers);
  if (unserved.length > 0) return unserved;
  return catalogue.models.flatMap((model, index) =>
    model.routes.flatMap((route, place) => {
      const problem = failureOf(model, route, providers.get(route.provider)!);
      return problem === null ? [] : [{ path: ['models', index, 'routes', place], problem }];
    }),
  );
}

function failureOf(model: Model, { providerModel, params }: Route, provider: Rehearsed): string | null {
  for (const input of inputsOf(model)) {
    try {
      provider.buildSubmit({
        method: model.method,
        providerModel,
        input,
        params,
        callbackUrl: 'https://example.com/rehearsal',
        idempotencyKey: '00000000-0000-5000-8000-000000000000',
      });
    } catch (error) {
      return (error as Error).message;
    }
  }
  return null;
}

/** An input of this model: the defaults, and examples of what has none. */
export function exampleInput(model: Model): JsonObject {
  const fields = Object.keys(model.input).filter((field) => field in EXAMPLES);
  const given = Object.fromEntries(fields.map((field) => [field, EXAMPLES[field]]));
  return inputSchema(model).parse(given) as JsonObject;
}

/** The example, and for each choice one input per value. */
function inputsOf(model: Model): JsonObject[] {
  const defaults = exampleInput(model);
  const choices = Object.entries(model.input).flatMap(([field, spec]) =>
    spec !== undefined && 'values' in spec
      ? spec.values.map((value) => ({ ...defaults, [field]: value }))
      : [],
  );
  return [defaults, ...choices];
}

/** No call may leave while routes are rehearsed. */
const NO_HTTP: OutboundHttp = {
  request: () => Promise.reject(new Error('a rehearsal sends nothing')),
  download: () => Promise.reject(new Error('a rehearsal sends nothing')),
  close: () => Promise.resolve(),
};

/** The check of a catalogue against every provider there is, with the settings of those that are configured. */
export function catalogueCheck(
  configured: Parameters<typeof createProviders>[0]['providers'],
): (catalogue: Catalogue) => CatalogueProblem[] {
  const all = new Map(PROVIDERS.map(({ name }) => [name, configured.get(name) ?? {}]));
  const providers = createProviders({ http: NO_HTTP, providers: all });
  return (catalogue) => rehearseRoutes(catalogue, providers);
}
