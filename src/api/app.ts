import { setMaxListeners } from 'node:events';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Log } from '../log.ts';
import { NO_TRACING, type Tracing } from '../tracing/index.ts';
import { docsPage } from './docs-page.ts';
import { errorHandler } from './errors.ts';
import { mountRoutes } from './mount.ts';
import { openApiDocument } from './openapi.ts';
import { Problem } from './problems.ts';
import type { ApiContext } from './route.ts';
import { ROUTES } from './routes/index.ts';
import { refuseOtherVideoCalls } from './routes/videos/parts.ts';
import { observeRequests } from './wide-line.ts';

export type AppDependencies = Omit<ApiContext, 'documentJson' | 'docsPage'> & {
  readonly logger: Log;
  readonly tracing?: Tracing;
};

/** Builds the API; it never listens. Everything it needs comes in, so that tests can run several side by side. */
export function createApp(deps: AppDependencies): Express {
  const { logger, tracing = NO_TRACING, ...rest } = deps;
  // Every call that waits listens to it, and takes its listener back.
  setMaxListeners(0, deps.draining);
  const document = openApiDocument(ROUTES, deps.catalogue);
  const ctx: ApiContext = { ...rest, documentJson: JSON.stringify(document), docsPage: docsPage(document) };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  app.use(observeRequests(logger, tracing), setSecurityHeaders);
  app.use(refuseOtherVideoCalls);
  mountRoutes(app, ROUTES, ctx);
  app.use(() => {
    throw new Problem('not_found', 'Check the path; /docs lists every route.');
  });
  app.use(errorHandler(logger));
  return app;
}

function setSecurityHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('X-Frame-Options', 'DENY');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
  response.setHeader('Cache-Control', 'no-store');
  next();
}
