import { z } from 'zod';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';

/** A JSON Schema as the API document uses them, references resolved. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly example?: unknown;
}

export interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly headers?: Readonly<Record<string, unknown>>;
        readonly content?: Readonly<Record<string, Content>>;
        readonly links?: Readonly<
          Record<
            string,
            { readonly operationId: string; readonly parameters: Readonly<Record<string, string>> }
          >
        >;
      }
    >
  >;
}

export interface Documented {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch']);
const json = JSON.parse(JSON.stringify(openApiDocument(ROUTES, DEFAULT_CATALOGUE))) as {
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** The same with every reference replaced by what it names; none leads back to itself. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved);
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) {
    const { $ref: reference, ...rest } = value as { $ref: string };
    const named = json.components.schemas[reference.replace('#/components/schemas/', '')];
    if (named === undefined) throw new Error(`${reference} names nothing`);
    return { ...(resolved(named) as object), ...rest };
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner)]));
}

/** Every operation of the API document. */
export const OPERATIONS: readonly Documented[] = Object.entries(json.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => METHODS.has(method))
    .map(([method, operation]) => ({ method, path, operation: resolved(operation) as Operation })),
);

/** What the operations name: schemas as they are, and with their references resolved; ways to prove oneself. */
export const DOCUMENT = {
  components: json.components,
  schemas: resolved(json.components.schemas) as Readonly<Record<string, Schema>>,
};

const validators = new WeakMap<Schema, z.ZodType>();

/** What is wrong with a value by this schema; empty = nothing. */
export function faultsOf(schema: Schema, value: unknown): string[] {
  // zod takes `uri-reference` for a whole URL, which it need not be.
  const plain: unknown = JSON.parse(
    JSON.stringify(schema).replaceAll('"format":"uri-reference"', '"title":"a reference"'),
  );
  const validator = validators.get(schema) ?? z.fromJSONSchema(plain as never);
  validators.set(schema, validator);
  const { error } = validator.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `/${path.join('/')}: ${message}`);
}
