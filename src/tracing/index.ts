import type { AroundCall } from '../domain/watched-provider.ts';
import { traceparent } from '../domain/trace-id.ts';
import type { Db } from '../db/index.ts';
import type { OutboundHttp } from '../net/types.ts';
import { NO_TRACING, type Tracing } from './types.ts';

export { countStepCalls, inStepScope, newStepScope, noteStep } from './step-scope.ts';
export { NO_TRACING, type EndedSpan, type Tracing } from './types.ts';

/** Tracing to this collector; `url` null = off, and nothing of OpenTelemetry is even read from the disk. */
export async function openTracing(options: {
  readonly url: string | null;
  readonly service: string;
  readonly version: string;
  readonly onProblem: (error: unknown) => void;
}): Promise<Tracing> {
  const { url } = options;
  if (url === null) return NO_TRACING;
  const { openTelemetry } = await import('./open-telemetry.ts');
  return openTelemetry({ ...options, url });
}

/** The same database, each call of a SQL function about a generation a span. */
export function traceFunctions(db: Db, tracing: Tracing): Db {
  if (!tracing.on) return db;
  return {
    prisma: db.prisma,
    query: (text, values) => db.query(text, values),
    close: () => db.close(),
    call(name, params, result, extra) {
      const id = params['generationId'] ?? params['submissionId'];
      const generation = typeof id === 'string' ? id : null;
      const start = { name: `sql ${name}`, kind: 'client', generation, fields: { function: name } } as const;
      return tracing.span(start, () => db.call(name, params, result, extra));
    },
  };
}

/** The same outbound HTTP; a call inside a span tells the other side of it. Providers ignore a header they don't know. */
export function tellTrace(http: OutboundHttp, tracing: Tracing): OutboundHttp {
  if (!tracing.on) return http;
  return {
    request(request) {
      const span = tracing.current();
      if (span === null) return http.request(request);
      return http.request({ ...request, headers: { ...request.headers, traceparent: traceparent(span) } });
    },
    download: (request) => http.download(request),
    close: () => http.close(),
  };
}

/** Each call to a provider a span. */
export function traceCalls(tracing: Tracing): AroundCall {
  return (provider, call, run) =>
    tracing.span(
      { name: `${provider} ${call}`, kind: 'client', generation: null, fields: { provider, call } },
      run,
      (result) => ({ answer: kindOf(result) }),
    );
}

function kindOf(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'kind' in result ? result.kind : undefined;
}
