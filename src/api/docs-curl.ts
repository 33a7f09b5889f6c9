import type { oas31 } from 'zod-openapi';

/** Optional headers worth showing: a wait of half a minute fits into the limits of common proxies. */
const SHOWN_OPTIONAL_HEADERS: Readonly<Record<string, string>> = { Prefer: 'wait=30' };

/**
 * A shell command that calls the operation, with example values in the place of required parameters.
 * Undefined when it needs a body without an example, as callbacks do: only their senders can write and sign one.
 */
export function curlOf(documented: {
  readonly path: string;
  readonly method: string;
  readonly operation: oas31.OperationObject;
}): string | undefined {
  const { path, method, operation } = documented;
  const body = operation.requestBody as oas31.RequestBodyObject | undefined;
  const contents = Object.entries(body?.content ?? {});
  const bodies = contents.filter(([, { example }]) => example !== undefined);
  const file = contents.find(
    ([, { schema }]) => (schema as { format?: string } | undefined)?.format === 'binary',
  );
  if (body?.required === true && bodies.length === 0 && file === undefined) return undefined;
  const parameters = (operation.parameters ?? []).flatMap((parameter) =>
    '$ref' in parameter ? [] : [parameter],
  );
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    exampleOf(
      parameters.find((p) => p.name === name),
      name,
    ),
  );
  const streams = Object.values(operation.responses ?? {}).some(
    (response: oas31.ResponseObject) => response.content?.['text/event-stream'] !== undefined,
  );
  const lines = [
    `curl ${streams ? '-sSN' : '-sS'} ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$DARKROOM_URL${url}"`,
  ];
  const scope = operation.security?.[0]?.['apiKey']?.[0];
  if (scope !== undefined) {
    lines.push(`-H "Authorization: Bearer $${scope === 'admin' ? 'DARKROOM_ADMIN_KEY' : 'DARKROOM_KEY'}"`);
  }
  for (const parameter of parameters) {
    if (parameter.in !== 'header') continue;
    const shown = SHOWN_OPTIONAL_HEADERS[parameter.name];
    if (parameter.required !== true && shown === undefined) continue;
    const value = parameter.name === 'Idempotency-Key' ? '$(uuidgen)' : exampleOf(parameter, parameter.name);
    lines.push(`-H "${parameter.name}: ${shown ?? value}"`);
  }
  for (const [mediaType, { example }] of bodies) {
    lines.push(`-H "Content-Type: ${mediaType}"`, `-d '${JSON.stringify(example).replace(/'/g, `'\\''`)}'`);
  }
  if (file !== undefined) lines.push(`-H "Content-Type: ${file[0]}"`, `--data-binary @file`);
  return lines.join(' \\\n  ');
}

function exampleOf(parameter: oas31.ParameterObject | undefined, name: string): string {
  const schema = parameter?.schema as { example?: unknown } | undefined;
  const example: unknown = parameter?.example ?? schema?.example;
  return typeof example === 'string' ? example : `<${name}>`;
}
