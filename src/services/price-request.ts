import type { Model, Route } from '../domain/catalogue.ts';
import { requestSchema, type GenerationRequest } from '../domain/generation-request.ts';
import { INPUT_ID } from '../domain/ids.ts';
import { namedFiles } from '../domain/input-fields.ts';
import { FILE_ADVICE } from '../domain/input-schema.ts';
import type { JsonObject } from '../domain/json.ts';
import { priceOf, type Price } from '../domain/pricing.ts';
import type { ServiceContext } from './context.ts';
import { fieldErrors, type FieldError } from './issue-paths.ts';

const CALLBACK_ADVICE =
  'Send an https URL of a public host without user name, password, port or fragment, at most 2048 characters.';

/** Refused by what was asked for, before anything is written. */
export type RequestRefusal =
  | { readonly outcome: 'unknown_model' }
  | { readonly outcome: 'invalid'; readonly errors: readonly FieldError[] }
  | { readonly outcome: 'price_changed'; readonly price: number; readonly maxCredits: number };

export interface PricedRequest {
  readonly outcome: 'ok';
  readonly model: Model;
  readonly request: GenerationRequest;
  /** The input with its defaults. */
  readonly input: JsonObject;
  readonly price: Price;
  /** The routes that it may take: all of the model, or those of the provider that was named. */
  readonly routes: readonly Route[];
}

/** Built once for each model: zod compiles a schema at its first use. */
const schemas = new WeakMap<Model, ReturnType<typeof requestSchema>>();

function schemaOf(model: Model): ReturnType<typeof requestSchema> {
  const schema = schemas.get(model) ?? requestSchema(model);
  schemas.set(model, schema);
  return schema;
}

/** Checks a body against its model and prices it; the same for a quote and for the generation itself. */
export function priceRequest(
  { catalogue, checkUrl }: Pick<ServiceContext, 'catalogue' | 'checkUrl'>,
  body: JsonObject,
): PricedRequest | RequestRefusal {
  const id = body['model'];
  const named = catalogue.models.find((candidate) => candidate.id === id);
  // Without a model the first one's schema still names every other wrong field.
  const model = named ?? (typeof id === 'string' ? undefined : catalogue.models[0]);
  if (model === undefined) return { outcome: 'unknown_model' };
  const parsed = schemaOf(model).safeParse(body, { reportInput: true });
  if (!parsed.success) return { outcome: 'invalid', errors: fieldErrors(parsed.error) };
  const request = parsed.data;
  const input = JSON.parse(JSON.stringify(request.input)) as JsonObject;
  const errors = urlErrors(checkUrl, model, request, input);
  if (errors.length > 0) return { outcome: 'invalid', errors };
  const { provider } = request;
  const routes =
    provider === undefined ? model.routes : model.routes.filter((route) => route.provider === provider);
  const price = priceOf(model.price, input);
  const { max_credits: maxCredits } = request;
  if (maxCredits !== undefined && price.credits > maxCredits) {
    return { outcome: 'price_changed', price: price.credits, maxCredits };
  }
  return { outcome: 'ok', model, request, input, price, routes };
}

/** What can be seen to be wrong with a URL before anybody goes there. */
function urlErrors(
  checkUrl: ServiceContext['checkUrl'],
  model: Model,
  { callback_url: callbackUrl }: GenerationRequest,
  input: JsonObject,
): FieldError[] {
  const errors = namedFiles(model.input, input)
    // A fragment is never sent, so it is no reason to refuse a file.
    .filter(({ value }) => !INPUT_ID.test(value) && !checkUrl(value.replace(/#.*$/s, '')))
    .map(({ field }) => ({ path: `/input/${field}`, message: FILE_ADVICE }));
  if (callbackUrl === undefined || checkUrl(callbackUrl)) return errors;
  return [...errors, { path: '/callback_url', message: CALLBACK_ADVICE }];
}
