import type { InputField, Method } from '../domain/input-fields.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { SubmitJob } from '../domain/provider.ts';

/** Per method: our input field → the provider's own name for it. */
export type MethodFields = Readonly<Partial<Record<Method, Readonly<Partial<Record<InputField, string>>>>>>;

/** The methods and fields of the table, as the port lists them. */
export function methodsOf(table: MethodFields): Readonly<Partial<Record<Method, readonly InputField[]>>> {
  return Object.fromEntries(
    Object.entries(table).map(([method, names]) => [method, Object.keys(names) as InputField[]]),
  );
}

/** The input under the provider's own names. @throws on a method or field that the table does not have */
export function namedInput(
  provider: string,
  table: MethodFields,
  { method, input }: Pick<SubmitJob, 'method' | 'input'>,
): JsonObject {
  const names: Readonly<Record<string, string>> | undefined = table[method];
  if (names === undefined) throw new Error(`${provider} has no ${method}: correct the catalogue`);
  return Object.fromEntries(
    Object.entries(input).map(([field, value]) => {
      const name = Object.hasOwn(names, field) ? names[field] : undefined;
      if (name === undefined)
        throw new Error(`${provider} takes no ${field} for ${method}: correct the catalogue`);
      return [name, value];
    }),
  );
}

/** The route's params beside what the adapter sets. @throws when both name the same member */
export function withParams(provider: string, own: JsonObject, params: JsonObject): JsonObject {
  const body: Record<string, JsonValue> = { ...own };
  for (const [name, value] of Object.entries(params)) {
    if (Object.hasOwn(own, name)) {
      throw new Error(`${provider}: the catalogue route's params may not set "${name}": the adapter sets it`);
    }
    body[name] = value;
  }
  return body;
}
