import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../domain/json.ts';

type Field = readonly [name: string, value: string];

/** Names as browsers write them (HTML, "multipart form data"): nothing in a name ends its quotes or its line. */
function escapedName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** One member as fields; lists and objects in brackets, as the openai SDK writes them: `a[]`, `a[b]`. */
function fieldsOf(name: string, value: JsonValue): readonly Field[] {
  if (value === null)
    throw new Error(`a form has no null: leave "${name}" out of the catalogue route's params`);
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).flatMap((entry) => fieldsOf(`${name}[]`, entry));
  }
  if (typeof value === 'object') return membersOf(value as JsonObject, (member) => `${name}[${member}]`);
  return [[name, String(value)]];
}

function membersOf(body: JsonObject, nameOf: (member: string) => string): readonly Field[] {
  return Object.entries(body)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([member, value]) => fieldsOf(nameOf(member), value));
}

/** From the key, so that the bytes are the same every time; another one as long as it occurs in the content. */
function boundaryFor(key: string, content: string): string {
  for (let n = 0; ; n += 1) {
    const digest = createHash('sha256').update(`${n}:${key}`).digest('hex');
    const boundary = `darkroom-${digest.slice(0, 40)}`;
    if (!content.includes(boundary)) return boundary;
  }
}

/**
 * A body as `multipart/form-data` (RFC 7578): text fields only, in the order of their names, values byte for byte as
 * they are. Equal bodies and keys give equal text. What is put in a value later must be without line breaks and must
 * not begin with `--`. @throws on null, which a form cannot say
 */
export function formData(
  body: JsonObject,
  key: string,
): { readonly contentType: string; readonly body: string } {
  const parts = membersOf(body, (member) => member).map(
    ([name, value]) => `Content-Disposition: form-data; name="${escapedName(name)}"\r\n\r\n${value}\r\n`,
  );
  const boundary = boundaryFor(key, parts.join(''));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: `${parts.map((part) => `--${boundary}\r\n${part}`).join('')}--${boundary}--\r\n`,
  };
}
