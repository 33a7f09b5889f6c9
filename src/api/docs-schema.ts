import { code, html, joined, NOTHING, prose, scrolling, type Html } from './html.ts';
import { PROBLEMS } from './problems.ts';

/** The parts of a JSON Schema that the page shows; any schema of the document can be read as this. */
export interface ShownSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly ShownSchema[];
  readonly oneOf?: readonly ShownSchema[];
  readonly items?: ShownSchema;
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly additionalProperties?: boolean | ShownSchema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  /** Of the JSON that a text holds. */
  readonly contentSchema?: ShownSchema;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly description?: string;
}

export interface FieldRow {
  readonly name: string;
  /** Words under the name, like `required` or where a parameter stands. */
  readonly note: string;
  readonly schema: ShownSchema;
  readonly description?: string | undefined;
}

/** Longer patterns, and that a text has no NUL, say less than the description and the example. */
const LONGEST_SHOWN_PATTERN = 40;

/** `code` in texts; a problem code leads to its explanation. */
export function text(value: string): Html {
  return prose(value, (word) => (Object.hasOwn(PROBLEMS, word) ? `#problem-${word}` : undefined));
}

/** One row for each field: name, type, allowed values, default (if any field has one) and meaning. */
export function fieldTable(rows: readonly FieldRow[], label: string): Html {
  if (rows.length === 0) return NOTHING;
  const defaults = rows.some(({ schema }) => schema.default !== undefined);
  return scrolling(
    label,
    html`<table class="fields${defaults ? ' defaults' : ''}">
      <thead>
        <tr>
          <th>name</th>
          <th>type</th>
          <th>allowed</th>
          ${defaults ? html`<th>default</th>` : NOTHING}
          <th>meaning</th>
        </tr>
      </thead>
      <tbody>
        ${joined(rows.map((row) => fieldRow(row, defaults)))}
      </tbody>
    </table>`,
  );
}

function fieldRow({ name, note, schema, description }: FieldRow, defaults: boolean): Html {
  const preset = schema.default === undefined ? NOTHING : code(JSON.stringify(schema.default));
  const { value } = withoutNull(schema);
  return html`<tr>
    <td>${code(name)} <small>${note}</small></td>
    <td>${typeOf(schema)}</td>
    <td>${allowed(value)}</td>
    ${defaults ? html`<td>${preset}</td>` : NOTHING}
    <td>${text(description ?? schema.description ?? value.description ?? '')}</td>
  </tr>`;
}

/** The fields of an object, those of inner objects as `outer.inner`, those of list items as `list[].inner`. */
export function fieldsOf(schema: ShownSchema, prefix = ''): readonly FieldRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const name = `${prefix}${key}`;
    const note = schema.required?.includes(key) === true ? '' : 'optional';
    const { value } = withoutNull(field);
    const inner =
      value.items === undefined ? fieldsOf(value, `${name}.`) : fieldsOf(value.items, `${name}[].`);
    return [{ name, note, schema: field }, ...inner];
  });
}

/** The type in words; a named schema as a link to its section. */
export function typeOf(schema: ShownSchema): Html {
  const { value, nullable } = withoutNull(schema);
  const name = nameOf(value);
  return html`${name}${nullable ? ' or null' : ''}`;
}

/** An unnamed object as its fields and their types in one line, anything else as its type. */
export function shapeOf(schema: ShownSchema): Html {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return typeOf(schema);
  return joined(
    fields.map(([key, field]) => html`${code(key)}: ${typeOf(field)}`),
    html`,<br />`,
  );
}

function nameOf(schema: ShownSchema): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/components/schemas/', '');
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.items !== undefined)
    return html`list of ${nameOf(schema.items)}${schema.items.$ref === undefined ? 's' : ''}`;
  if (typeof schema.additionalProperties === 'object' && schema.properties === undefined) {
    const { type } = schema.additionalProperties;
    return html`object${typeof type === 'string' ? ` of ${type}s` : ''}`;
  }
  const type = typeof schema.type === 'string' ? schema.type : (schema.type ?? ['any']).join(' or ');
  return html`${schema.format ?? type}`;
}

/** zod writes "or null" as a union or as a list of types. */
function withoutNull(schema: ShownSchema): { readonly value: ShownSchema; readonly nullable: boolean } {
  const { anyOf, type, ...rest } = schema;
  const others = anyOf?.filter((one) => one.type !== 'null');
  const [only, second] = others ?? [];
  if (only !== undefined && second === undefined) {
    return { value: { ...rest, ...only }, nullable: others?.length !== anyOf?.length };
  }
  if (typeof type !== 'object') return { value: schema, nullable: false };
  const types = type.filter((one) => one !== 'null');
  return { value: { ...rest, type: types.join(' or ') }, nullable: types.length !== type.length };
}

function allowed(schema: ShownSchema): Html {
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (values.length > 0) {
    if (values.every((value) => Object.hasOwn(PROBLEMS, String(value)))) {
      return html`one of the <a href="#problems">problems</a>`;
    }
    return joined(
      values.map((value) => code(String(value))),
      html`, `,
    );
  }
  const { minimum, exclusiveMinimum, pattern, format, example, maxProperties } = schema;
  // The largest safe integer is the bound of the number type, not one that a caller has to know.
  const maximum = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  const smallest = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const parts = [
    exclusiveMinimum === undefined ? '' : `more than ${exclusiveMinimum}`,
    range(smallest, maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    maxProperties === undefined ? '' : `at most ${maxProperties} keys`,
    format === undefined && pattern !== undefined && isShown(pattern) ? `\`${pattern}\`` : '',
    format !== undefined && typeof example === 'string' ? `like \`${example}\`` : '',
  ];
  return text(parts.filter((part) => part !== '').join(', '));
}

function isShown(pattern: string): boolean {
  return pattern.length <= LONGEST_SHOWN_PATTERN && !pattern.includes('\\u0000');
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}${unit}`;
  if (max !== undefined) return `at most ${max}${unit}`;
  return min === undefined ? '' : `at least ${min}${unit}`;
}
