import type { oas31 } from 'zod-openapi';

/** A shell command that calls the operation, with example values in the place of required parameters. */
export function curlOf(documented: {
  readonly path: string;
  readonly method: string;
  readonly operation: oas31.OperationObject;
}): string {
  const { path, method, operation } = documented;
  const parameters = (operation.parameters ?? []).flatMap((parameter) =>
    '$ref' in parameter ? [] : [parameter],
  );
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    exampleOf(
      parameters.find((p) => p.name === name),
      name,
    ),
  );
  const lines = [`curl -sS ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$DARKROOM_URL${url}"`];
  if ((operation.security?.length ?? 0) > 0) lines.push('-H "Authorization: Bearer $DARKROOM_KEY"');
  for (const parameter of parameters) {
    if (parameter.in !== 'header' || parameter.required !== true) continue;
    const value = parameter.name === 'Idempotency-Key' ? '$(uuidgen)' : exampleOf(parameter, parameter.name);
    lines.push(`-H "${parameter.name}: ${value}"`);
  }
  const body = operation.requestBody as oas31.RequestBodyObject | undefined;
  for (const [mediaType, { example }] of Object.entries(body?.content ?? {})) {
    if (example === undefined) continue;
    lines.push(`-H "Content-Type: ${mediaType}"`, `-d '${JSON.stringify(example).replace(/'/g, `'\\''`)}'`);
  }
  return lines.join(' \\\n  ');
}

function exampleOf(parameter: oas31.ParameterObject | undefined, name: string): string {
  const schema = parameter?.schema as { example?: unknown } | undefined;
  const example: unknown = parameter?.example ?? schema?.example;
  return typeof example === 'string' ? example : `<${name}>`;
}
