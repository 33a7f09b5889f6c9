import { createHash } from 'node:crypto';
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/api/app.ts';
import { createLogger } from '../../src/log.ts';
import { openApiDocument, problemsOf } from '../../src/api/openapi.ts';
import { PROBLEMS } from '../../src/api/problems.ts';
import { isWatchable, scopeOf } from '../../src/api/route.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { SCOPES } from '../../src/domain/api-key.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { startApi, stubDb, testKeyring, type TestApi, fileParts, NO_CHANGES, sweepOf } from './api.ts';
import { send } from './client.ts';

const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch', 'options', 'head', 'trace']);
const document = openApiDocument(ROUTES, DEFAULT_CATALOGUE);
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => METHODS.has(method))
    .map(([method, operation]) => ({
      name: `${method} ${path}`,
      operation: operation as Record<string, unknown>,
    })),
);

/** What Express itself would answer, read from its router; OPTIONS is for preflights of browsers only. */
function mountedRoutes(app: Express): string[] {
  return app.router.stack.flatMap(({ route }) => {
    if (route === undefined) return [];
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const methods = new Set(route.stack.map((layer) => layer.method).filter((method) => METHODS.has(method)));
    methods.delete('options');
    return [...methods].map((method) => `${method} ${path}`);
  });
}

interface JsonSchema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}
interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonSchema;
}
interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}
interface Operation {
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

/** A schema with a name of its own is described there. */
function describes({ $ref, description, anyOf = [] }: JsonSchema): boolean {
  return $ref !== undefined || description !== undefined || anyOf.some(describes);
}

/** Fields of a schema, and of those inside it, that say nothing of their meaning. */
function undescribed(schema: JsonSchema, at: string): string[] {
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(describes(field) ? [] : [`${at} ${name}`]),
      ...undescribed(field, `${at} ${name}`),
    ]),
    ...[...(items === undefined ? [] : [items]), ...anyOf, ...oneOf].flatMap((inner) =>
      undescribed(inner, at),
    ),
  ];
}

let api: TestApi;
beforeAll(async () => {
  api = await startApi(stubDb().db);
});
afterAll(() => api.close());

describe('the API document', () => {
  it('API9 has every route of the router, and the router every one of its routes', () => {
    const app = createApp({
      db: stubDb().db,
      catalogue: DEFAULT_CATALOGUE,
      keyring: testKeyring(),
      providers: new Map(),
      starter: { enqueue: () => true },
      nowMs: Date.now,
      waiters: { run: async () => false },
      readiness: async () => ({ ready: true, checks: [] }),
      draining: new AbortController().signal,
      logger: createLogger('silent', 'api'),
      ...fileParts(),
      changes: NO_CHANGES,
      sweep: sweepOf(stubDb().db, new AbortController().signal, []),
    });
    const mounted = mountedRoutes(app).sort();
    expect(mounted.length).toBeGreaterThan(10);
    expect(operations.map(({ name }) => name).sort()).toEqual(mounted);
  });

  it('API5 every operation says who may call it', () => {
    for (const { name, operation } of operations) {
      const route = ROUTES.find((candidate) => `${candidate.method} ${candidate.path}` === name)!;
      const kind = name.includes(' /admin/v1/') ? 'operator' : name.includes(' /v1/') ? 'tenant' : 'open';
      const scope = scopeOf(route);
      expect(operation['security']).toEqual([
        ...(scope === null ? [] : [{ apiKey: [scope] }]),
        ...(isWatchable(route) ? [{ watchToken: [] }] : []),
      ]);
      expect([...SCOPES, null]).toContain(scope);
      expect(scope === null).toBe(kind === 'open');
      expect(scope === 'admin').toBe(kind === 'operator');
    }
  });

  it('declares every problem that a route can answer', () => {
    for (const route of ROUTES) {
      const operation = operations.find(({ name }) => name === `${route.method} ${route.path}`)!.operation;
      const responses = operation['responses'] as Record<string, { description: string; content?: object }>;
      expect(operation['operationId']).toMatch(/^[a-z][A-Za-z]+$/);
      for (const code of problemsOf(route)) {
        const response = responses[String(PROBLEMS[code].status)];
        expect(response?.description).toContain(`\`${code}\``);
        const shape = route.errorShape === 'video' ? 'application/json' : 'application/problem+json';
        expect(Object.keys(response?.content ?? {})).toEqual([shape]);
      }
    }
    const used = new Set(ROUTES.flatMap((route) => problemsOf(route)));
    const unused = Object.keys(PROBLEMS).filter((code) => !used.has(code as keyof typeof PROBLEMS));
    // Of the server and of the router, before any route.
    expect(unused).toEqual(['malformed_http', 'method_not_allowed']);
  });

  it('has unique operation ids and one body shape per model', () => {
    const ids = operations.map(({ operation }) => operation['operationId']);
    expect(new Set(ids).size).toBe(ids.length);
    const create = document.paths?.['/v1/generations']?.post?.requestBody;
    expect(JSON.stringify(create)).toContain('"const":"infro-video-polled"');
    expect(JSON.stringify(create)).toContain('"maxLength":2000');
  });

  it('says what every field and parameter means', () => {
    const missing: string[] = [];
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      missing.push(...undescribed(schema, name));
    }
    for (const { name, operation } of operations) {
      for (const { name: parameter, description, schema } of (operation['parameters'] ?? []) as Parameter[]) {
        if (description === undefined && !describes(schema)) missing.push(`${name} ${parameter}`);
      }
      const { requestBody, responses } = operation as unknown as Operation;
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)]) {
        for (const { schema } of Object.values(content)) missing.push(...undescribed(schema, name));
      }
    }
    expect(missing).toEqual([]);
  });

  it('is served, and as a page without scripts whose policy allows its own style only', async () => {
    const served = await send(api.url, { path: '/openapi.json' });
    expect(served.json()).toEqual(JSON.parse(JSON.stringify(document)));
    const page = await send(api.url, { path: '/docs' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const style = /<style>([\s\S]*?)<\/style>/.exec(page.text)![1]!;
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page.headers['content-security-policy']).toMatch(`default-src 'none'; style-src 'sha256-${hash}'`);
    expect(page.text).not.toMatch(/<script|javascript:|\bsrc=|href="[a-z]+:|@import|url\(/i);
    for (const { operation } of operations)
      expect(page.text).toContain(`id="${String(operation['operationId'])}"`);
    for (const code of Object.keys(PROBLEMS)) expect(page.text).toContain(`id="problem-${code}"`);
    expect(page.text).toContain('curl -sS -X POST &quot;$DARKROOM_URL/v1/generations&quot;');
  });
});
