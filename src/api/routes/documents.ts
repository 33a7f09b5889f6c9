import type { OpenRoute } from '../route.ts';

export const openApiRoute: OpenRoute = {
  method: 'get',
  path: '/openapi.json',
  auth: 'none',
  problems: [],
  describe: () => ({
    operationId: 'openApi',
    summary: 'This document',
    tags: ['Service'],
    responses: {
      '200': {
        description: 'OpenAPI 3.1.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
  }),
  handle: (ctx) => async () => ({
    status: 200,
    headers: { 'Cache-Control': 'no-cache' },
    contentType: 'application/json',
    body: ctx.documentJson,
  }),
};

export const docsRoute: OpenRoute = {
  method: 'get',
  path: '/docs',
  auth: 'none',
  problems: [],
  describe: () => ({
    operationId: 'docs',
    summary: 'This document as a page',
    tags: ['Service'],
    responses: {
      '200': { description: 'HTML.', content: { 'text/html': { schema: { type: 'string' } } } },
    },
  }),
  handle: (ctx) => async () => ({
    status: 200,
    headers: {
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': ctx.docsPage.contentSecurityPolicy,
    },
    contentType: 'text/html; charset=utf-8',
    body: ctx.docsPage.html,
  }),
};
