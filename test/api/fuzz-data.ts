import fc from 'fast-check';
import { countCharacters } from '../../src/domain/text.ts';
import type { Operation, Parameter, Schema } from './documented.ts';

const URL_LIKE = 'https://';
const HEADER_TEXT = /^[!-~](?:[ -~]*[!-~])?$/;

/** Values that a schema of the document allows. */
export function valid(schema: Schema): fc.Arbitrary<unknown> {
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return fc.oneof(...variants.map(valid));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'string':
      return text(schema);
    case 'integer':
      return fc.integer({
        min: schema.minimum ?? -1_000,
        max: Math.min(schema.maximum ?? 1_000, 2 ** 31 - 1),
      });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1, max: schema.maximum ?? 1, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valid(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, 3),
      });
    case 'object':
      return object(schema);
    default:
      throw new Error(`no values for ${JSON.stringify(schema).slice(0, 200)}`);
  }
}

function text(schema: Schema): fc.Arbitrary<string> {
  const { pattern, format, minLength = 0, maxLength = 300 } = schema;
  if (format === 'date-time') return time();
  if (pattern === undefined) {
    return fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 300) }).filter(isStorable);
  }
  const form = new RegExp(pattern, 'u');
  const fits = (value: string) => form.test(value) && countCharacters(value) <= maxLength;
  if (pattern.includes('inp_')) return fc.stringMatching(/^inp_[0-9a-hjkmnp-tv-z]{26}$/).filter(fits);
  if (pattern.includes(URL_LIKE)) {
    return fc.webUrl({ validSchemes: ['https'], withQueryParameters: true, size: 'small' }).filter(fits);
  }
  // Words: it must not have NUL, or must have more than white space.
  if (pattern.includes('\\u0000')) {
    const unit = fc.oneof(
      fc.constantFrom('a', ' ', 'ä', '😀', '"', '\\', "'"),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    );
    return fc.string({ unit, minLength, maxLength: Math.min(maxLength, 60) }).filter(fits);
  }
  if (pattern.includes('(?!')) {
    return fc.stringMatching(new RegExp(pattern.replace(/\(\?!(?:[^()]|\([^()]*\))*\)/g, ''))).filter(fits);
  }
  return fc.stringMatching(new RegExp(pattern)).filter(fits);
}

/** With any zone, in the years that are taken. */
function time(): fc.Arbitrary<string> {
  const dates = fc.date({ min: new Date('1970-01-02'), max: new Date('9998-12-30'), noInvalidDate: true });
  return fc
    .tuple(dates, fc.constantFrom('Z', '+00:00', '+14:00', '-12:00', '+23:59', '-23:59'))
    .map(([date, zone]) => date.toISOString().replace('Z', zone));
}

/** No NUL and no half of a character, which the JSON reader refuses before any schema. */
function isStorable(value: string): boolean {
  return !value.includes('\0') && !/\p{Cs}/u.test(value);
}

function object(schema: Schema): fc.Arbitrary<unknown> {
  const { properties, required = [], additionalProperties, propertyNames, minProperties = 0 } = schema;
  if (properties === undefined) {
    if (typeof additionalProperties !== 'object') return fc.constant({});
    return fc.dictionary(
      valid(propertyNames ?? { type: 'string' }) as fc.Arbitrary<string>,
      valid(additionalProperties),
      {
        maxKeys: 3,
        noNullPrototype: true,
      },
    );
  }
  const fields = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, valid(field)]));
  return fc
    .record(fields, { requiredKeys: [...required], noNullPrototype: true })
    .filter((value) => Object.keys(value).length >= minProperties);
}

/** Bodies that the schema does not allow: not an object, a field too many, one of another kind, or one that is missing. */
export function broken(schema: Schema): fc.Arbitrary<unknown> {
  const whole = valid(schema) as fc.Arbitrary<Record<string, unknown>>;
  const variants = schema.anyOf ?? schema.oneOf ?? [schema];
  const needed = (variants[0]?.required ?? []).filter((name) =>
    variants.every(({ required }) => required?.includes(name)),
  );
  const ways: fc.Arbitrary<unknown>[] = [
    fc.constantFrom(null, [], 'text', 7, true),
    fc
      .tuple(whole, fc.constantFrom('colour', 'status', 'tenant_id', '__proto_'))
      .map(([value, name]) => ({ ...value, [name]: 1 })),
  ];
  if (needed.length > 0) {
    const field = fc.constantFrom(...needed);
    ways.push(
      fc
        .tuple(whole, field)
        .map(([value, name]) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))),
      fc
        .tuple(whole, field, fc.constantFrom({ a: 1 }, [[]], -0.5))
        .map(([value, name, wrong]) => ({ ...value, [name]: wrong })),
    );
  }
  return fc.oneof(...ways);
}

/** The parameters of one call by where they are; optional ones are there or not. */
export function parameters(
  operation: Operation,
  where: Parameter['in'],
): fc.Arbitrary<Record<string, string>> {
  const wanted = (operation.parameters ?? []).filter((parameter) => parameter.in === where);
  const values = wanted.map(({ name, schema }) => {
    const value = valid(schema).map(String);
    return [name, where === 'header' ? value.filter((line) => HEADER_TEXT.test(line)) : value] as const;
  });
  return fc.record(Object.fromEntries(values), {
    requiredKeys: wanted
      .filter(({ required }) => required === true || where === 'path')
      .map(({ name }) => name),
    noNullPrototype: true,
  }) as fc.Arbitrary<Record<string, string>>;
}
