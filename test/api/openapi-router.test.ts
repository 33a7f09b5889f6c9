/** API9: what the document says, looked at from its own other places: routes, problems, schemas, links. */
import { describe, expect, it } from 'vitest';
import { problemsOf } from '../../src/api/openapi.ts';
import { PROBLEMS, type ProblemCode } from '../../src/api/problems.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { startApi, stubDb, type TestApi } from './api.ts';
import { send } from './client.ts';
import { DOCUMENT, faultsOf, OPERATIONS, type Documented, type Schema } from './documented.ts';

const named = OPERATIONS.map((each) => [`${each.method} ${each.path}`, each] as const);
const routeOf = ({ method, path }: Documented) =>
  ROUTES.find((route) => route.method === method && route.path === path)!;
const parameterNames = ({ operation }: Documented, place: string) =>
  (operation.parameters ?? []).filter((parameter) => parameter.in === place).map(({ name }) => name);
const sorted = (values: Iterable<string>) => [...new Set(values)].sort();

/** Every example anywhere in it, with the schema that it stands at. */
function examplesIn(value: unknown, at: string): { at: string; schema: Schema; example: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = value as { readonly schema?: Schema; readonly example?: unknown };
  const inside = Object.entries(value).flatMap(([key, inner]) =>
    // What is inside an example is none.
    key === 'example' ? [] : examplesIn(inner, `${at}/${key}`),
  );
  if (own.example === undefined) return inside;
  return [{ at, schema: own.schema ?? value, example: own.example }, ...inside];
}

/** The events of a stream's text as its schema has them. */
function framesOf(text: string): object[] {
  return text
    .trim()
    .split('\n\n')
    .map((frame) => Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/, 2))) as object)
    .filter((frame) => !('retry' in frame));
}

/** Whether a JSON pointer leads to a field of this schema. */
function leads(schema: Schema | undefined, [name, ...rest]: readonly string[]): boolean {
  if (schema === undefined) return false;
  if (name === undefined) return true;
  const within = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].some((each) =>
    leads(each, [name, ...rest]),
  );
  return within || leads(/^\d+$/.test(name) ? schema.items : schema.properties?.[name], rest);
}

describe('API9 the document and the routes', () => {
  it.each(named)('%s names the parameters of its path, all required', (_name, documented) => {
    const inPath = [...documented.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    expect(sorted(parameterNames(documented, 'path'))).toEqual(sorted(inPath));
    for (const parameter of documented.operation.parameters ?? []) {
      if (parameter.in === 'path') expect(parameter.required).toBe(true);
    }
  });

  it.each(named)('%s has the statuses and codes of its route and no others', (_name, documented) => {
    const route = routeOf(documented);
    const codes = problemsOf(route);
    const own = Object.keys(route.describe(DEFAULT_CATALOGUE).responses);
    const { responses } = documented.operation;
    expect(sorted(Object.keys(responses))).toEqual(
      sorted([...own, ...codes.map((code) => String(PROBLEMS[code].status))]),
    );
    for (const status of own) expect(Number(status)).toBeLessThan(400);
    const told = Object.entries(responses).flatMap(([status, { description }]) =>
      Number(status) < 400
        ? []
        : [...description.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
    );
    expect(sorted(told)).toEqual(sorted(codes.map((code) => `${PROBLEMS[code].status} ${code}`)));
  });

  it.each(named)('%s uses ways to prove oneself that are declared', (_name, { operation }) => {
    for (const each of operation.security) {
      for (const scheme of Object.keys(each))
        expect(DOCUMENT.components.securitySchemes).toHaveProperty(scheme);
    }
  });

  it('the schema of a problem has the codes of the list and no others', () => {
    const { code } = (DOCUMENT.components.schemas['Problem'] as Schema).properties!;
    expect(sorted(code!.enum as ProblemCode[])).toEqual(sorted(Object.keys(PROBLEMS)));
  });

  it('a body of another media type than the documented is 415 wherever JSON is taken', async () => {
    const keyOf = (scope: string | undefined) =>
      stubDb({ scopes: [scope as 'generations'], tenantId: scope === 'admin' ? null : 'ten_stub' });
    const withJson = OPERATIONS.filter(
      ({ operation }) => 'application/json' in (operation.requestBody?.content ?? {}),
    );
    expect(withJson.length).toBeGreaterThan(20);
    const apis = new Map<string | undefined, { key: string; api: TestApi }>();
    for (const { method, path, operation } of withJson) {
      expect(operation.requestBody).toMatchObject({ required: true });
      const others = path === '/v1/videos' ? ['multipart/form-data'] : [];
      expect(Object.keys(operation.requestBody!.content)).toEqual(['application/json', ...others]);
      const scope = operation.security[0]?.['apiKey']?.[0];
      const stub = keyOf(scope);
      const { key, api } = apis.get(scope) ?? { key: stub.apiKey, api: await startApi(stub.db) };
      apis.set(scope, { key, api });
      const answer = await send(api.url, {
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'x'),
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'text/plain',
          'Idempotency-Key': 'k',
        },
        body: '{}',
      });
      expect([method, path, answer.status]).toEqual([method, path, 415]);
    }
    await Promise.all([...apis.values()].map(({ api }) => api.close()));
    for (const { path, operation } of OPERATIONS) {
      expect([path, '415' in operation.responses]).toEqual([path, operation.requestBody !== undefined]);
    }
  });
});

describe('API9 what the document shows', () => {
  it('every example is one of its schema', () => {
    const examples = examplesIn({ OPERATIONS, schemas: DOCUMENT.schemas }, '');
    expect(examples.length).toBeGreaterThan(100);
    const wrong = examples.flatMap(({ at, schema, example }) => {
      const values = at.endsWith('/text/event-stream') ? framesOf(example as string) : [example];
      return values.flatMap((value) => faultsOf(schema, value).map((fault) => `${at} ${fault}`));
    });
    expect(wrong).toEqual([]);
  });

  it('every link leads from a field of the answer to a parameter of an operation', () => {
    let links = 0;
    for (const [name, { operation }] of named) {
      for (const [status, response] of Object.entries(operation.responses)) {
        for (const { operationId, parameters } of Object.values(response.links ?? {})) {
          links += 1;
          const target = OPERATIONS.find((each) => each.operation.operationId === operationId);
          expect(target, `${name} ${status} → ${operationId}`).toBeDefined();
          // Whatever it needs beyond its link is not required, or a header that the caller makes.
          expect(sorted(Object.keys(parameters))).toEqual(sorted(parameterNames(target!, 'path')));
          for (const value of Object.values(parameters)) {
            const pointer = /^\$response\.body#\/(.+)$/.exec(value)?.[1];
            const schema = response.content?.['application/json']?.schema;
            expect([name, value, leads(schema, (pointer ?? '?').split('/'))]).toEqual([name, value, true]);
          }
        }
      }
    }
    expect(links).toBeGreaterThan(20);
  });
});
