import type { oas31 } from 'zod-openapi';
import { html, joined, type Html } from './html.ts';
import { curlOf } from './docs-curl.ts';

export interface DocumentedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: oas31.OperationObject;
}

const NOTHING: Html = { raw: '' };

/** One operation: parameters, body, a command to copy, and every answer. */
export function operationSection(documented: DocumentedOperation): Html {
  const { path, method, operation } = documented;
  const scope = Object.values(operation.security?.[0] ?? {})[0]?.[0];
  return html`<section id="${operation.operationId ?? ''}">
    <h3>
      <code><span class="method">${method}</span> ${path}</code>
    </h3>
    <p>
      <strong>${operation.summary ?? ''}</strong>
      <span class="auth">${scope === undefined ? 'No API key.' : `API key with scope ${scope}.`}</span>
    </p>
    <p>${operation.description ?? ''}</p>
    ${parameterTable(operation.parameters ?? [])} ${bodyPart(operation.requestBody)}
    <h4>Command</h4>
    <pre class="copy">${curlOf(documented)}</pre>
    ${responseTable(operation.responses ?? {})}
  </section>`;
}

function parameterTable(parameters: NonNullable<oas31.OperationObject['parameters']>): Html {
  const rows = parameters.flatMap((parameter) => ('$ref' in parameter ? [] : [parameter]));
  if (rows.length === 0) return NOTHING;
  return html`<h4>Parameters</h4>
    <table>
      <thead>
        <tr>
          <th>name</th>
          <th>in</th>
          <th>meaning</th>
          <th>schema</th>
        </tr>
      </thead>
      <tbody>
        ${joined(
          rows.map(
            (row) =>
              html`<tr>
                <td><code>${row.name}</code>${row.required === true ? ' (required)' : ''}</td>
                <td>${row.in}</td>
                <td>${row.description ?? ''}</td>
                <td><code>${JSON.stringify(row.schema ?? {})}</code></td>
              </tr>`,
          ),
        )}
      </tbody>
    </table>`;
}

function bodyPart(body: oas31.OperationObject['requestBody']): Html {
  if (body === undefined || '$ref' in body) return NOTHING;
  return joined(
    Object.entries(body.content).map(
      ([mediaType, { schema, example }]) =>
        html`<h4>Body <code>${mediaType}</code></h4>
          ${example === undefined ? NOTHING : html`<pre>${pretty(example)}</pre>`} ${schemaDetails(schema)}`,
    ),
  );
}

function responseTable(responses: oas31.ResponsesObject): Html {
  const rows = Object.entries(responses) as [string, oas31.ResponseObject][];
  return html`<h4>Answers</h4>
    <table>
      <thead>
        <tr>
          <th>status</th>
          <th>meaning</th>
          <th>headers</th>
          <th>body</th>
        </tr>
      </thead>
      <tbody>
        ${joined(
          rows.map(
            ([status, response]) =>
              html`<tr>
                <td>${status}</td>
                <td>${response.description}</td>
                <td>${Object.keys(response.headers ?? {}).join(', ')}</td>
                <td>
                  ${joined(
                    Object.entries(response.content ?? {}).map(
                      ([mediaType, { schema }]) => html`<code>${mediaType}</code> ${schemaDetails(schema)}`,
                    ),
                  )}
                </td>
              </tr>`,
          ),
        )}
      </tbody>
    </table>`;
}

/** A named schema as a link to its text further down, any other one in place. */
function schemaDetails(schema: oas31.SchemaObject | oas31.ReferenceObject | undefined): Html {
  if (schema === undefined) return NOTHING;
  if ('$ref' in schema && typeof schema.$ref === 'string') {
    const name = schema.$ref.replace('#/components/schemas/', '');
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  return html`<details>
    <summary>Schema</summary>
    <pre>${pretty(schema)}</pre>
  </details>`;
}

/** The texts of all named schemas. */
export function schemaSections(schemas: Readonly<Record<string, unknown>>): Html {
  return joined(
    Object.entries(schemas).map(
      ([name, schema]) =>
        html`<section id="schema-${name}">
          <h3>${name}</h3>
          <pre>${pretty(schema)}</pre>
        </section>`,
    ),
  );
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
