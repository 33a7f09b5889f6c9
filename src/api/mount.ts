import type { Express, Request, Response } from 'express';
import type { Principal } from '../services/authenticate.ts';
import { actorOf, assertOperator, authenticateKey, tenantOf } from './auth.ts';
import { countRequest } from './limits.ts';
import { openToWatchers, WATCHER, watchingTenant } from './watch.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { noteProblem } from './errors.ts';
import { Problem } from './problems.ts';
import { requestFacts } from './request-facts.ts';
import { isWatchable } from './route.ts';
import type { ApiContext, Call, OperatorRoute, Reply, Route, TenantRoute } from './route.ts';

/** `/v1/generations/{id}` as Express spells it. */
function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Methods that a path answers, as `Allow` lists them; HEAD comes with GET. */
function allowedMethods(routes: readonly Route[]): string {
  return routes
    .flatMap((route) => (route.method === 'get' ? ['GET', 'HEAD'] : [route.method.toUpperCase()]))
    .join(', ');
}

/** Mounts every route; another method on a known path is 405, whoever asks. */
export function mountRoutes(app: Express, routes: readonly Route[], ctx: ApiContext): void {
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path);
    const mounted = app.route(expressPath(path));
    for (const route of methods) mounted[route.method](handler(route, ctx));
    if (methods.some(isWatchable)) mounted.options(openToWatchers);
    mounted.all(() => {
      const allow = allowedMethods(methods);
      throw new Problem('method_not_allowed', `Use one of: ${allow}.`, { headers: { Allow: allow } });
    });
  }
}

/** One for all calls: an error for each would cost its stack. */
const OVER = new DOMException('The call is over.', 'AbortError');

function handler(route: Route, ctx: ApiContext) {
  const answer = answerer(route, ctx);
  return async (request: Request, response: Response): Promise<void> => {
    const facts = requestFacts(response);
    facts.route = route.path;
    const gone = new AbortController();
    response.on('close', () => gone.abort(OVER));
    const call: Call = {
      request,
      params: request.params as Record<string, string>,
      query: request.query as Call['query'],
      signal: gone.signal,
    };
    facts.generation = Object.values(call.params).find((value) => GENERATION_ID.test(value)) ?? null;
    const reply = await answer(call, response);
    facts.generation = reply.generation ?? facts.generation;
    // A connection that stays open would hold up the stop of the process.
    if (ctx.draining.aborted && !response.headersSent) response.setHeader('Connection', 'close');
    await send(response, reply);
  };
}

type Answerer = (call: Call, response: Response) => Promise<Reply>;

function answerer(route: Route, ctx: ApiContext): Answerer {
  switch (route.auth) {
    case 'none':
    case 'callback':
    case 'link':
      return route.handle(ctx);
    case 'operator':
      return operatorAnswerer(route, ctx);
    default:
      return tenantAnswerer(route, ctx);
  }
}

function tenantAnswerer(route: TenantRoute, ctx: ApiContext): Answerer {
  const handle = route.handle(ctx);
  return async (call, response) => {
    const watcher = isWatchable(route) ? watchingTenant(ctx, call, response) : null;
    if (watcher !== null) {
      requestFacts(response).tenantId = watcher;
      return handle({ ...call, tenantId: watcher, actor: WATCHER });
    }
    const principal = await authenticateKey(ctx, call.request);
    noteCaller(response, principal);
    // Before the scope: a call that is refused for it is a call too.
    await countRequest(ctx, principal, response);
    return handle({ ...call, tenantId: tenantOf(principal, route.auth), actor: actorOf(principal) });
  };
}

function operatorAnswerer(route: OperatorRoute, ctx: ApiContext): Answerer {
  const handle = route.handle(ctx);
  return async (call, response) => {
    const principal = await authenticateKey(ctx, call.request);
    noteCaller(response, principal);
    assertOperator(principal);
    return handle({ ...call, actor: actorOf(principal) });
  };
}

function noteCaller(response: Response, { tenantId, keyId }: Principal): void {
  Object.assign(requestFacts(response), { tenantId, keyId });
}

async function send(response: Response, reply: Reply): Promise<void> {
  if (response.destroyed) return;
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if (reply.contentType !== undefined) response.setHeader('Content-Type', reply.contentType);
  if (reply.stream === undefined || response.req.method === 'HEAD') {
    response.end(reply.body);
    return;
  }
  try {
    await reply.stream(response);
    response.end();
  } catch (error) {
    noteProblem(response, error);
    response.destroy();
    throw error;
  }
}
