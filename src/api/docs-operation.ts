import type { oas31 } from 'zod-openapi';
import { curlOf } from './docs-curl.ts';
import { fieldsOf, fieldTable, shapeOf, text, type ShownSchema } from './docs-schema.ts';
import { code, html, joined, NOTHING, scrolling, type Html } from './html.ts';

export interface DocumentedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: oas31.OperationObject;
}

/** One operation: parameters, body, a command to copy, and every answer. */
export function operationSection(documented: DocumentedOperation): Html {
  const { path, method, operation } = documented;
  const scope = Object.values(operation.security?.[0] ?? {})[0]?.[0];
  const watchable = operation.security?.some((each) => 'watchToken' in each) ?? false;
  const command = curlOf(documented);
  return html`<section id="${operation.operationId ?? ''}">
    <h3>
      <code><span class="method">${method}</span> ${path}</code>
    </h3>
    <p>
      <strong>${text(operation.summary ?? '')}</strong>
      <span class="auth"
        >${authOf(scope)}${watchable ? ' Or a watch token of the generation (?watch_token=).' : ''}</span
      >
    </p>
    <p>${text(operation.description ?? '')}</p>
    ${parameterTable(operation.parameters ?? [])} ${bodyPart(operation.requestBody)}
    ${
      command === undefined
        ? NOTHING
        : html`<h4>Command</h4>
            <pre class="copy" tabindex="0">${command}</pre>`
    }
    ${responseTable(operation.responses ?? {})}
  </section>`;
}

function authOf(scope: string | undefined): string {
  if (scope === undefined) return 'No API key.';
  return scope === 'admin' ? 'Key of an operator (scope admin, no tenant).' : `API key with scope ${scope}.`;
}

function parameterTable(parameters: NonNullable<oas31.OperationObject['parameters']>): Html {
  const rows = parameters.flatMap((parameter) => ('$ref' in parameter ? [] : [parameter]));
  if (rows.length === 0) return NOTHING;
  const fields = rows.map((row) => ({
    name: row.name,
    note: `${row.in}${row.required === true ? ', required' : ''}`,
    schema: (row.schema ?? {}) as ShownSchema,
    description: row.description,
  }));
  return html`<h4>Parameters</h4>
    ${fieldTable(fields, 'Parameters')}`;
}

function bodyPart(body: oas31.OperationObject['requestBody']): Html {
  if (body === undefined || '$ref' in body) return NOTHING;
  const contents = Object.entries(body.content).map(([mediaType, content]) => ({
    mediaType,
    content,
    key: JSON.stringify(content),
  }));
  // Kinds of a file differ in their name only.
  const kinds = contents.filter(({ key }, i) => contents.findIndex((other) => other.key === key) === i);
  return joined(
    kinds.map(({ key, content: { schema, example } }) => {
      const shown = (schema ?? {}) as ShownSchema;
      const alike = contents.filter((other) => other.key === key).map(({ mediaType }) => code(mediaType));
      return html`<h4>Body ${joined(alike, html`, `)}</h4>
        ${example === undefined ? NOTHING : html`<pre tabindex="0">${pretty(example)}</pre>`}
        ${shown.description === undefined ? NOTHING : html`<p>${text(shown.description)}</p>`}
        ${joined((shown.oneOf ?? shown.anyOf ?? [shown]).map((variant) => bodyFields(variant)))}`;
    }),
  );
}

/** The fields that name a kind of body by their constant. */
const KINDS = ['model', 'kind', 'scope', 'state'];

/** The fields of one kind of body, folded. */
function bodyFields(schema: ShownSchema): Html {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return NOTHING;
  const named = KINDS.map((name) => schema.properties?.[name]?.const).find(
    (name) => typeof name === 'string',
  );
  const kind = typeof named === 'string' ? html` of ${code(named)}` : NOTHING;
  return html`<details>
    <summary>Fields${kind}</summary>
    ${fieldTable(fields, 'Fields of the body')}
  </details>`;
}

function responseTable(responses: oas31.ResponsesObject): Html {
  const rows = Object.entries(responses) as [string, oas31.ResponseObject][];
  return html`<h4>Answers</h4>
    ${scrolling(
      'Answers',
      html`<table class="answers">
        <thead>
          <tr>
            <th>status</th>
            <th>meaning</th>
            <th>body</th>
            <th>headers</th>
          </tr>
        </thead>
        <tbody>
          ${joined(rows.map(responseRow))}
        </tbody>
      </table>`,
    )}`;
}

function responseRow([status, response]: [string, oas31.ResponseObject]): Html {
  const bodies = Object.entries(response.content ?? {}).map(([mediaType, { schema }]) => {
    const shape = shapeOf(schema ?? {});
    if (mediaType === 'text/event-stream')
      return html`${code(mediaType)} of ${streamOf(schema ?? {}) ?? shape}`;
    return mediaType.endsWith('json') ? shape : code(mediaType);
  });
  return html`<tr>
    <td>${status}</td>
    <td>${text(response.description)}</td>
    <td>${joined(bodies)}</td>
    <td>${joined(Object.keys(response.headers ?? {}).map(code), html`<br />`)}</td>
  </tr>`;
}

/** What the text of `data` of each event is. */
function streamOf(schema: ShownSchema): Html | undefined {
  const { contentSchema } = schema.properties?.['data'] ?? {};
  return contentSchema === undefined ? undefined : shapeOf(contentSchema);
}

/** All named schemas: their fields, and the raw text folded. */
export function schemaSections(schemas: Readonly<Record<string, unknown>>): Html {
  return joined(
    Object.entries(schemas as Readonly<Record<string, ShownSchema>>).map(
      ([name, schema]) =>
        html`<section id="schema-${name}">
          <h3>${name}</h3>
          ${schema.description === undefined ? NOTHING : html`<p>${text(schema.description)}</p>`}
          ${fieldTable(fieldsOf(schema), `Fields of ${name}`)}
          <details>
            <summary>JSON Schema</summary>
            <pre tabindex="0">${pretty(schema)}</pre>
          </details>
        </section>`,
    ),
  );
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
