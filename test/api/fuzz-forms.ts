import fc from 'fast-check';
import type { Schema } from './documented.ts';
import { valid } from './fuzz-data.ts';
import { PICTURE } from './inputs.ts';

/** The bytes of a body and what its Content-Type is. */
export interface FuzzBody {
  readonly mediaType: string;
  readonly bytes: string | Uint8Array;
}

/** A part as its name, a header and its bytes. */
interface FormPart {
  readonly name: string;
  readonly isFile?: boolean;
  readonly header?: string;
  readonly content: string | Uint8Array;
}

type Fields = Readonly<Record<string, unknown>>;

const BOUNDARY = 'f-u-z-z';
const MEDIA_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const UTF_16 = 'Content-Type: text/plain; charset=utf-16le';

function formOf(parts: readonly FormPart[]): FuzzBody {
  const bytes = parts.flatMap(({ name, isFile = false, header, content }) => {
    const disposition = `Content-Disposition: form-data; name="${name}"${isFile ? '; filename="fuzz.png"' : ''}`;
    const lines = [`--${BOUNDARY}`, disposition, ...(header === undefined ? [] : [header]), '', ''];
    return [Buffer.from(lines.join('\r\n')), Buffer.from(content), Buffer.from('\r\n')];
  });
  return { mediaType: MEDIA_TYPE, bytes: Buffer.concat([...bytes, Buffer.from(`--${BOUNDARY}--\r\n`)]) };
}

/** A field of an object as parts: files by their bytes, objects as JSON text or member by member. */
function partsOf(name: string, value: unknown, inBrackets: boolean): FormPart[] {
  if (value instanceof Uint8Array) return [{ name, isFile: true, content: value }];
  if (typeof value !== 'object' || value === null) return [{ name, content: String(value) }];
  if (!inBrackets) return [{ name, content: JSON.stringify(value) }];
  return Object.entries(value).map(([member, inner]) => ({
    name: `${name}[${member}]`,
    content: String(inner),
  }));
}

const partsIn = (fields: Fields, inBrackets: boolean) =>
  Object.entries(fields).flatMap(([name, value]) => partsOf(name, value, inBrackets));

/** The same schema with bytes that are a picture where it wants a file. */
function withFiles(schema: Schema): Schema {
  if (schema.format === 'binary') return { const: PICTURE };
  const { properties, anyOf, oneOf, ...rest } = schema;
  return {
    ...rest,
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withFiles) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(withFiles) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, field]) => [name, withFiles(field)]),
          ),
        }),
  };
}

/** Forms that a schema of the document allows, each object in one of the two ways in which a form has one. */
export function validForm(schema: Schema): fc.Arbitrary<FuzzBody> {
  return fc
    .tuple(valid(withFiles(schema)) as fc.Arbitrary<Fields>, fc.boolean())
    .map(([fields, inBrackets]) => formOf(partsIn(fields, inBrackets)));
}

/** What no text of a form may be, in the field that it replaces. */
const HOSTILE: readonly Omit<FormPart, 'name'>[] = [
  { content: 'a\0b' },
  { content: Uint8Array.from([0x61, 0xff, 0x62]) },
  { header: UTF_16, content: Buffer.from('a\ud800b', 'utf16le') },
  { header: UTF_16, content: Buffer.from('a\0b', 'utf16le') },
  { header: 'Content-Type: text/plain; charset=klingon', content: 'x' },
  { header: 'Content-Transfer-Encoding: base64', content: 'eA==' },
];

/** The field that is an object; what is one to some reader, and to none of ours. */
const OBJECT = 'input_reference';
const HOSTILE_OBJECTS: readonly string[] = [
  '{"image_url":"https://example.com/boat.png#\\ud800"}',
  '{"image_url":"https://example.com/boat.png#\\u0000"}',
  '{"file_id":"x","file_id":"y"}',
  '{"__proto__":{"file_id":"x"}}',
  '{"file_id":'.repeat(100_000),
  `{"file_id":1.${'0'.repeat(500_000)}1}`,
  '{"image_url":"https://example.com/boat.png"',
];

/**
 * Bodies that no form of the schema is: no form at all, a field too many, one that is missing, given twice, of members
 * or of bytes that are no text, and objects that no JSON body may be. A number is some text here, so it may be right.
 */
export function brokenForm(schema: Schema): fc.Arbitrary<FuzzBody> {
  const plain = withFiles(schema);
  const variants = plain.anyOf ?? plain.oneOf ?? [plain];
  const needed = (variants[0]?.required ?? []).filter((name) =>
    variants.every(({ required }) => required?.includes(name)),
  );
  const whole = valid(plain) as fc.Arbitrary<Fields>;
  const field = fc.constantFrom(...needed);
  /** Of all fields but this one, then these parts. */
  const instead = (without: string, fields: Fields, more: readonly FormPart[]) => {
    const others = Object.entries(fields).filter(([name]) => name !== without);
    return formOf([...partsIn(Object.fromEntries(others), false), ...more]);
  };
  const noForm = fc.constantFrom('', 'null', '[]', `--${BOUNDARY}`, `--${BOUNDARY}\r\n\r\n`);
  const unknown = fc.constantFrom('colour', 'status', 'tenant_id', '__proto_', '__proto__[x]', 'prompt[]');
  return fc.oneof(
    noForm.map((bytes) => ({ mediaType: MEDIA_TYPE, bytes })),
    fc.tuple(whole, unknown).map(([fields, name]) => instead('', fields, [{ name, content: '1' }])),
    fc.tuple(whole, field).map(([fields, name]) => instead(name, fields, [])),
    fc.tuple(whole, field).map(([fields, name]) => instead('', fields, partsOf(name, fields[name], false))),
    fc
      .tuple(whole, field)
      .map(([fields, name]) => instead(name, fields, [{ name: `${name}[a]`, content: '1' }])),
    fc
      .tuple(whole, field, fc.constantFrom(...HOSTILE))
      .map(([fields, name, part]) => instead(name, fields, [{ name, ...part }])),
    fc
      .tuple(whole, fc.constantFrom(...HOSTILE_OBJECTS))
      .map(([fields, content]) => instead(OBJECT, fields, [{ name: OBJECT, content }])),
  );
}
