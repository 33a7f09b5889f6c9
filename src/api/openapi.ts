import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import type { Catalogue } from '../domain/catalogue.ts';
import { generationEventSchema } from '../domain/generation-event.ts';
import { packageVersion } from '../version.ts';
import { RATE_LIMIT, RATE_LIMIT_POLICY, REQUEST_ID, RETRY_AFTER, SHOULD_RETRY } from './headers.ts';
import { PROBLEMS, type ProblemCode } from './problems.ts';
import { isWatchable, scopeOf, type Route } from './route.ts';
import { isNeverSoon, videoErrorSchema } from './video-errors.ts';

/** The document as plain JSON data, ready to be served. */
export type ApiDocument = ReturnType<typeof createDocument>;

const problemSchema = z
  .object({
    type: z.string().meta({ description: 'Where this problem is explained.', format: 'uri-reference' }),
    title: z.string().meta({ description: 'The same text for every problem of this code.' }),
    status: z.int().min(400).max(599).meta({ description: 'The status of the answer.' }),
    code: z
      .enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]])
      .meta({ description: 'Branch on this.' }),
    detail: z.string().meta({ description: 'What to do next.' }),
    instance: z.string().meta({ description: 'Id of the request, also in X-Request-Id.' }),
    errors: z
      .array(
        z.object({
          path: z.string().meta({ description: 'JSON pointer, like `/input/prompt`.' }),
          message: z.string().meta({ description: 'What is wrong with it.' }),
        }),
      )
      .optional()
      .meta({ description: 'Every wrong field, at most 20.' }),
  })
  .catchall(z.unknown())
  .meta({ id: 'Problem' });

const KEY_PROBLEMS: readonly ProblemCode[] = [
  'api_key_missing',
  'api_key_invalid',
  'scope_missing',
  'database_unavailable',
];

/** The codes that a route can answer: its own, those of its authentication, and of its tenant's limit. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const scope = scopeOf(route);
  const implied: ProblemCode[] = scope === null ? [] : [...KEY_PROBLEMS];
  if (scope !== null && scope !== 'admin') implied.push('rate_limited');
  if (isWatchable(route)) implied.push('watch_token_invalid');
  return [...new Set([...route.problems, ...implied, 'internal_error' as const])];
}

function problemResponses(
  codes: readonly ProblemCode[],
  shape: Route['errorShape'],
): ZodOpenApiResponsesObject {
  const responses: ZodOpenApiResponsesObject = {};
  for (const status of new Set(codes.map((code) => PROBLEMS[code].status))) {
    const sameStatus = codes.filter((code) => PROBLEMS[code].status === status);
    const retries = status === 503 || status === 429 || sameStatus.includes('idempotency_key_in_progress');
    responses[`${status}`] = {
      description: sameStatus.map((code) => `\`${code}\``).join(', '),
      headers: {
        'X-Request-Id': REQUEST_ID,
        ...(retries ? { 'Retry-After': RETRY_AFTER } : {}),
        ...(shape === 'video' && sameStatus.some(isNeverSoon) ? { 'X-Should-Retry': SHOULD_RETRY } : {}),
        ...(status === 429 ? { RateLimit: RATE_LIMIT, 'RateLimit-Policy': RATE_LIMIT_POLICY } : {}),
      },
      content:
        shape === 'video'
          ? { 'application/json': { schema: videoErrorSchema } }
          : { 'application/problem+json': { schema: problemSchema } },
    };
  }
  return responses;
}

function operation(route: Route, catalogue: Catalogue): ZodOpenApiOperationObject {
  const described = route.describe(catalogue);
  const scope = scopeOf(route);
  return {
    ...described,
    security: [
      ...(scope === null ? [] : [{ apiKey: [scope] }]),
      ...(isWatchable(route) ? [{ watchToken: [] }] : []),
    ],
    responses: { ...described.responses, ...problemResponses(problemsOf(route), route.errorShape) },
  };
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
        'are settled exactly once. Errors are RFC 9457 problem documents; branch on `code`. `/v1/videos` is the same in the shape of the OpenAI ' +
        'Videos API, errors included, for clients that are written for it. Where your operator has limited the requests ' +
        'that your tenant may send in a minute, every answer says in `RateLimit` and `RateLimit-Policy` what is left; above it you get ' +
        '429 `rate_limited` with `Retry-After`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      'Generations',
      'Videos',
      'Inputs',
      'Files',
      'Models',
      'Credits',
      'Webhooks',
      'Operators',
      'Callbacks',
      'Service',
    ].map((name) => ({
      name,
    })),
    components: {
      // Named by the text of a stream's events, which is no schema of its own.
      schemas: { GenerationEvent: generationEventSchema },
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'dk_…',
          description: 'An API key of your tenant; for operators, a key of no tenant with the scope `admin`.',
        },
        watchToken: {
          type: 'apiKey',
          in: 'query',
          name: 'watch_token',
          description:
            'For browsers: the `Watch-Token` header of an answer about this generation. Reads this generation only, from any origin.',
        },
      },
    },
    paths,
  });
}
