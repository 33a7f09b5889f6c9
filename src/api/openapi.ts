import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import type { Catalogue } from '../domain/catalogue.ts';
import { REQUEST_ID, RETRY_AFTER } from './headers.ts';
import { PROBLEMS, type ProblemCode } from './problems.ts';
import { isTenantRoute, type Route } from './route.ts';

/** The document as plain JSON data, ready to be served. */
export type ApiDocument = ReturnType<typeof createDocument>;

const problemSchema = z
  .object({
    type: z.string().meta({ description: 'Where this problem is explained.', format: 'uri-reference' }),
    title: z.string().meta({ description: 'The same text for every problem of this code.' }),
    status: z.int().min(400).max(599),
    code: z
      .enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]])
      .meta({ description: 'Branch on this.' }),
    detail: z.string().meta({ description: 'What to do next.' }),
    instance: z.string().meta({ description: 'Id of the request, also in X-Request-Id.' }),
    errors: z
      .array(z.object({ path: z.string().meta({ description: 'JSON pointer.' }), message: z.string() }))
      .optional(),
  })
  .catchall(z.unknown())
  .meta({ id: 'Problem' });

const TENANT_PROBLEMS: readonly ProblemCode[] = [
  'api_key_missing',
  'api_key_invalid',
  'scope_missing',
  'database_unavailable',
  'internal_error',
];

/** The codes that a route can answer: its own and those of its authentication. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const implied: readonly ProblemCode[] = isTenantRoute(route) ? TENANT_PROBLEMS : ['internal_error'];
  return [...new Set([...route.problems, ...implied])];
}

function problemResponses(codes: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  const responses: ZodOpenApiResponsesObject = {};
  for (const status of new Set(codes.map((code) => PROBLEMS[code].status))) {
    const sameStatus = codes.filter((code) => PROBLEMS[code].status === status);
    const retries = status === 503 || sameStatus.includes('idempotency_key_in_progress');
    responses[`${status}`] = {
      description: sameStatus.map((code) => `\`${code}\``).join(', '),
      headers: { 'X-Request-Id': REQUEST_ID, ...(retries ? { 'Retry-After': RETRY_AFTER } : {}) },
      content: { 'application/problem+json': { schema: problemSchema } },
    };
  }
  return responses;
}

function operation(route: Route, catalogue: Catalogue): ZodOpenApiOperationObject {
  const described = route.describe(catalogue);
  return {
    ...described,
    security: isTenantRoute(route) ? [{ apiKey: [route.auth] }] : [],
    responses: { ...described.responses, ...problemResponses(problemsOf(route)) },
  };
}

/** The version of this package; its file lies at the same place seen from `src/api` and from `dist/api`. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/** OpenAPI 3.1 of these routes, from the same schemas that check the requests. */
export function openApiDocument(routes: readonly Route[], catalogue: Catalogue): ApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operation(route, catalogue) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Darkroom',
      version: packageVersion(),
      description:
        'Runs AI media generations on credits: one call creates a generation, its price is held, its output is stored, and the credits ' +
        'are settled exactly once. Errors are RFC 9457 problem documents; branch on `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: ['Generations', 'Credits', 'Models', 'Callbacks', 'Service'].map((name) => ({ name })),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'dk_…',
          description: 'An API key of your tenant.',
        },
      },
    },
    paths,
  });
}
