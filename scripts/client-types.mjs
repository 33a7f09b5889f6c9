// The types of the tenants' client, from the API document: src/client/schema.ts.
// node scripts/client-types.mjs [--check]: writes the file; with --check exit status 1 when it is old.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { register } from 'tsx/esm/api';
import { ROOT } from './tools.mjs';

const FILE = join(ROOT, 'src', 'client', 'schema.ts');
const HEAD = '// Made by "npm run client:types" from the API document; not edited by hand.\n';

register();
const { openApiDocument } = await import('../src/api/openapi.ts');
const { ROUTES } = await import('../src/api/routes/index.ts');
const { DEFAULT_CATALOGUE } = await import('../src/domain/default-catalogue.ts');
// It works with TypeScript 5 only, which the client's own package brings.
const own = createRequire(join(ROOT, 'src', 'client', 'package.json'));
const { default: generator } = await import(pathToFileURL(own.resolve('openapi-typescript')).href);
const { default: openapiTS, astToString } = generator;

const document = forTenants(openApiDocument(ROUTES, DEFAULT_CATALOGUE));
const text = `${HEAD}${astToString(await openapiTS(document))}`;
const found = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
if (process.argv[2] !== '--check') {
  writeFileSync(FILE, text);
} else if (text !== found) {
  process.stderr.write('src/client/schema.ts is old: run "npm run client:types".\n');
  process.exitCode = 1;
}

/** What a tenant calls, whatever catalogue its operator has; every problem as one schema. `/v1/videos` has clients of its own. */
function forTenants(whole) {
  const copy = structuredClone(JSON.parse(JSON.stringify(whole)));
  const problem = {
    description: 'A problem (RFC 9457).',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
  const paths = Object.entries(copy.paths).filter(([path]) => /^\/v1\/(?!videos)/.test(path));
  for (const [, item] of paths) {
    for (const operation of Object.values(item)) {
      const kept = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
      operation.responses = { ...Object.fromEntries(kept), default: problem };
      // Whose providers and models there are is the operator's catalogue.
      for (const { name, schema } of operation.parameters ?? []) if (name === 'provider') delete schema.enum;
      const schema = operation.requestBody?.content?.['application/json']?.schema;
      if (Array.isArray(schema?.oneOf)) {
        operation.requestBody.content['application/json'].schema = anyModel(schema.oneOf[0]);
      }
    }
  }
  const own = Object.entries(copy.components?.schemas ?? {}).filter(([name]) => !name.startsWith('Video'));
  const schemas = { ...Object.fromEntries(own), Problem: problemSchema() };
  return { ...copy, paths: Object.fromEntries(paths), components: { ...copy.components, schemas } };
}

/** One model's body, opened to all models. */
function anyModel(schema) {
  const { model, input, provider, ...rest } = schema.properties;
  const text = (description) => ({ type: 'string', description });
  return {
    ...schema,
    properties: {
      model: text(model.description),
      input: { type: 'object', additionalProperties: true, description: input.description },
      provider: text(provider?.description),
      ...rest,
    },
    // What has a default may be left out.
    required: ['model', 'input'],
  };
}

function problemSchema() {
  const text = { type: 'string' };
  return {
    type: 'object',
    required: ['type', 'title', 'status', 'code', 'detail', 'instance'],
    additionalProperties: true,
    properties: {
      type: text,
      title: text,
      status: { type: 'integer' },
      code: text,
      detail: text,
      instance: text,
      errors: {
        type: 'array',
        items: { type: 'object', required: ['path', 'message'], properties: { path: text, message: text } },
      },
    },
  };
}
