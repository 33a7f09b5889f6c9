import { createHash } from 'node:crypto';
import { operationSection, schemaSections, type DocumentedOperation } from './docs-operation.ts';
import { text } from './docs-schema.ts';
import { code, html, joined, scrolling, type Html } from './html.ts';
import type { ApiDocument } from './openapi.ts';
import { PROBLEMS } from './problems.ts';

const STYLE = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:66rem;padding:1.5rem;overflow-wrap:break-word}
h1,h2,h3{line-height:1.25}h2{margin-top:3rem;border-bottom:1px solid var(--line)}
section{margin:2rem 0;padding:1rem 1.25rem;border:1px solid var(--line);border-radius:8px}
section>h3{margin-top:0}h3 code,p code,li code{overflow-wrap:anywhere}
code,pre{font:14px/1.5 ui-monospace,monospace}h3 code{font-size:16px}
pre{background:var(--soft);padding:.75rem;border-radius:6px;overflow:auto}
pre.copy{user-select:all}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;min-width:44rem;font-size:15px}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{white-space:nowrap}
.fields,.answers{table-layout:fixed}
.fields th:nth-child(1){width:24%}.fields th:nth-child(2){width:13%}.fields th:nth-child(3){width:24%}
.defaults th:nth-child(4){width:9%}
.answers th:nth-child(1){width:4rem}.answers th:nth-child(3){width:24%}.answers th:nth-child(4){width:12rem}
small,.auth{opacity:.75}small{white-space:nowrap}
nav ul{columns:2;padding-left:1.2rem}nav li{break-inside:avoid}
.method{font-weight:700;text-transform:uppercase}
summary{cursor:pointer;padding:.25rem 0}
@media(max-width:40rem){body{padding:1rem}section{padding:1rem .75rem}nav ul{columns:1}
table{min-width:0}thead{display:none}tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}td{display:block;border:0;padding:.1rem 0}
td:empty{display:none}td:first-child{font-weight:700}
.defaults td:nth-child(4)::before{content:"default "}}
`;

/** The way of a user through the calls that matter most; one path in the document can't keep it. Others follow. */
const FIRST_OPERATIONS = [
  'createGeneration',
  'getGeneration',
  'followGeneration',
  'listGenerations',
  'cancelGeneration',
  'deleteGeneration',
  'createVideo',
];

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** One self-contained page of the document: no script, no outside file; the policy allows its own style only. */
export function docsPage(document: ApiDocument): {
  readonly html: string;
  readonly contentSecurityPolicy: string;
} {
  const operations = operationsInReadingOrder(document);
  const tags = (document.tags ?? []).map((tag) => tag.name);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${document.info.title} API</title>
        ${{ raw: `<style>${STYLE}</style>` }}
      </head>
      <body>
        <h1>${document.info.title} API ${document.info.version}</h1>
        <p>${text(document.info.description ?? '')}</p>
        <p>
          Machine-readable: <a href="/openapi.json">/openapi.json</a>. Click a command to select all of it;
          set <code>DARKROOM_KEY</code> to your API key (operators: <code>DARKROOM_ADMIN_KEY</code> to theirs)
          and <code>DARKROOM_URL</code> to this address first.
        </p>
        <nav>
          <ul>
            ${joined(
              operations.map(
                ({ path, method, operation }) =>
                  html`<li>
                    <a href="#${operation.operationId ?? ''}"
                      ><code><span class="method">${method}</span> ${path}</code></a
                    >
                  </li>`,
              ),
            )}
            <li><a href="#schemas">Schemas</a></li>
            <li><a href="#problems">Problems</a></li>
          </ul>
        </nav>
        ${joined(
          tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                ${joined(
                  operations
                    .filter(({ operation }) => operation.tags?.includes(tag))
                    .map((each) => operationSection(each)),
                )}`,
          ),
        )}
        <h2 id="schemas">Schemas</h2>
        ${schemaSections(document.components?.schemas ?? {})} ${problemTable()}
      </body>
    </html>`;
  const styleHash = createHash('sha256').update(STYLE).digest('base64');
  return {
    html: page.raw,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function operationsInReadingOrder(document: ApiDocument): readonly DocumentedOperation[] {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item?.[method];
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
  const place = ({ operation }: DocumentedOperation): number => {
    const index = FIRST_OPERATIONS.indexOf(operation.operationId ?? '');
    return index === -1 ? FIRST_OPERATIONS.length : index;
  };
  return operations.sort((a, b) => place(a) - place(b));
}

function problemTable(): Html {
  return html`<h2 id="problems">Problems</h2>
    <p>
      Every error is <code>application/problem+json</code> (RFC 9457, see
      <a href="#schema-Problem">Problem</a>) with one of these codes; <code>detail</code> says what to do.
    </p>
    ${scrolling(
      'Problems',
      html`<table class="problems">
        <thead>
          <tr>
            <th>code</th>
            <th>status</th>
            <th>title</th>
          </tr>
        </thead>
        <tbody>
          ${joined(
            Object.entries(PROBLEMS).map(
              ([name, problem]) =>
                html`<tr id="problem-${name}">
                  <td>${code(name)}</td>
                  <td>${[problem.status, ...('also' in problem ? problem.also : [])].join(', ')}</td>
                  <td>${problem.title}</td>
                </tr>`,
            ),
          )}
        </tbody>
      </table>`,
    )}`;
}
