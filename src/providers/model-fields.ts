import { z } from 'zod';
import { INPUT_FIELDS, type InputField, type Method } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { SubmitJob } from '../domain/provider.ts';
import { withParams } from './submit-body.ts';

const memberName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/);

/** How one input field is written for one model: under which name, and as which text or by which table of values. */
const fieldRule = z.union([
  memberName,
  z.strictObject({
    name: memberName,
    /** The value as text in place of `{}`, for example `{}s`. */
    text: z.string().includes('{}').max(64).optional(),
    /** By the field's value; another value is refused. */
    values: z.record(z.string(), z.json()).optional(),
  }),
]);
type FieldRule = z.infer<typeof fieldRule>;
export type FieldRules = Readonly<Partial<Record<InputField, FieldRule>>>;

const fieldRules = z
  .record(z.string(), fieldRule)
  .refine(
    (rules) => Object.keys(rules).every((field) => (INPUT_FIELDS as readonly string[]).includes(field)),
    `names a field that is none of ${INPUT_FIELDS.join(', ')}`,
  );

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

function member(
  provider: string,
  field: string,
  rule: FieldRule,
  value: JsonValue,
): readonly [string, JsonValue] {
  if (typeof rule === 'string') return [rule, value];
  const { name, text, values } = rule;
  if (values === undefined)
    return [name, text === undefined ? value : text.replace('{}', () => textOf(value))];
  const found = Object.hasOwn(values, textOf(value)) ? values[textOf(value)] : undefined;
  if (found === undefined) {
    throw new Error(
      `${provider}: this model takes no ${field} of ${textOf(value)}: correct the catalogue (input, or params.$fields)`,
    );
  }
  return [name, found];
}

/**
 * A model's own input: the input fields under the model's names, and the route's `params` beside them. A route tells
 * other names than `rules` by the member `$fields` of its params, which is not sent: `{"$fields": {"duration_seconds":
 * {"name": "duration", "text": "{}s"}}}`. @throws on a method or field that is not offered, and on params that clash
 */
export function modelInput(
  provider: string,
  { method, input, params }: Pick<SubmitJob, 'method' | 'input' | 'params'>,
  methods: Readonly<Partial<Record<Method, readonly InputField[]>>>,
  rules: FieldRules,
): JsonObject {
  const { $fields, ...others } = params;
  const own = fieldRules.safeParse($fields ?? {});
  if (!own.success) throw new Error(`${provider}: params.$fields: ${z.prettifyError(own.error)}`);
  const taken: readonly string[] | undefined = methods[method];
  if (taken === undefined) throw new Error(`${provider} has no ${method}: correct the catalogue`);
  const all: Readonly<Record<string, FieldRule>> = { ...rules, ...own.data };
  const members = Object.entries(input).map(([field, value]) => {
    const rule = taken.includes(field) ? all[field] : undefined;
    if (rule === undefined)
      throw new Error(`${provider} takes no ${field} for ${method}: correct the catalogue`);
    return member(provider, field, rule, value);
  });
  return withParams(provider, Object.fromEntries(members), others);
}
