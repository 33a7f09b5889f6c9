import type { NextFunction, Request, Response } from 'express';
import { safeError } from '../domain/safe-error.ts';
import { parseTraceparent } from '../domain/trace-id.ts';
import type { Log } from '../log.ts';
import { measureRequest } from '../metrics/latency-metrics.ts';
import type { Tracing } from '../tracing/index.ts';
import { newRequestFacts, requestFacts, setRequestFacts, type RequestFacts } from './request-facts.ts';

/** Asked every few seconds by machines: no span tells anything of them. */
const UNTRACED = new Set<string | null>(['/healthz', '/readyz', '/metrics']);

/** One wide line, one measurement and one span a request, when it is over; 499 = the client left before the answer. */
export function observeRequests(log: Log, tracing: Tracing) {
  return (request: Request, response: Response, next: NextFunction): void => {
    setRequestFacts(response, newRequestFacts(request.headers['x-request-id']));
    const facts = requestFacts(response);
    const { socket } = request;
    const writtenBefore = socket.bytesWritten;
    const startMs = Date.now();
    response.setHeader('X-Request-Id', facts.requestId);
    response.on('close', () => {
      const status = response.writableFinished ? response.statusCode : 499;
      const ms = Math.round(performance.now() - facts.startedMs);
      const { method } = request;
      const line = {
        ...fieldsOf(facts, method, status),
        ms,
        bytes: socket.bytesWritten - writtenBefore,
        ...(facts.failure === null ? {} : { error: safeError(facts.failure) }),
      };
      facts.told = true;
      log[levelOf(status, facts)](line, 'request');
      measureRequest({ route: facts.route, method, status, ms });
      if (!tracing.on || UNTRACED.has(facts.route)) return;
      tracing.record({
        name: `${method} ${facts.route ?? 'no route'}`,
        kind: 'server',
        generation: facts.generation,
        fields: fieldsOf(facts, method, status),
        startMs,
        endMs: startMs + ms,
        failed: status >= 500,
        link: parseTraceparent(request.headersDistinct['traceparent']?.[0]),
      });
    });
    next();
  };
}

function fieldsOf(facts: RequestFacts, method: string, status: number) {
  return {
    request_id: facts.requestId,
    method,
    route: facts.route,
    status,
    tenant: facts.tenantId,
    key: facts.keyId,
    generation: facts.generation,
    problem: facts.problem,
  };
}

/** Ours is an error; 503 tells of something that is away, or of too much at once; all else is the caller's own. */
function levelOf(status: number, { failure }: RequestFacts): 'info' | 'warn' | 'error' {
  if (failure !== null) return 'error';
  return status < 500 ? 'info' : 'warn';
}
