/**
 * Spans over OTLP/HTTP as JSON. Imported only when tracing is on. The exporter opens its own sockets, past src/net: it calls
 * nothing but the address that the operator has configured, which is mostly a private one, and never one of a tenant.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Context } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, RandomIdGenerator } from '@opentelemetry/sdk-trace-node';
import { allowedFields, type LogFields } from '../domain/log-fields.ts';
import { createdAtMs, rootOf, type TraceContext } from '../domain/trace-id.ts';
import type { SpanStart, Tracing } from './types.ts';

const QUEUE = 2_048;
const BATCH = 512;
const EXPORT_EVERY_MS = 1_000;
const EXPORT_LIMIT_MS = 5_000;
const CLOSE_LIMIT_MS = 3_000;
/** A collector that is away is told of once in this time. */
const TELL_EVERY_MS = 300_000;
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

interface OpenOptions {
  /** Without the `/v1/traces`. */
  readonly url: string;
  readonly service: string;
  readonly version: string;
  /** Told when spans could not be sent; they are lost. */
  readonly onProblem: (error: unknown) => void;
}

/** Tracing that sends to a collector. A slow or dead one costs spans, never a request or a step. */
export function openTelemetry({ url, service, version, onProblem }: OpenOptions): Tracing {
  let root: TraceContext | null = null;
  const random = new RandomIdGenerator();
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': `darkroom-${service}`, 'service.version': version }),
    idGenerator: {
      generateTraceId: () => root?.traceId ?? random.generateTraceId(),
      generateSpanId: () => root?.spanId ?? random.generateSpanId(),
    },
    spanProcessors: [
      new BatchSpanProcessor(tellingExporter(`${url}/v1/traces`, onProblem), {
        maxQueueSize: QUEUE,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_LIMIT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('darkroom');
  const active = new AsyncLocalStorage<Context>();

  function parentOf(generation: string | null): Context | undefined {
    const current = active.getStore();
    if (current !== undefined || generation === null) return current;
    const above = rootOf(generation);
    return above === null ? undefined : below(above);
  }
  const started = ({ name, kind, fields }: SpanStart, parent: Context, startTime: number) =>
    tracer.startSpan(name, { kind: KINDS[kind], attributes: attributesOf(fields), startTime }, parent);

  return {
    on: true,
    async span(start, act, end) {
      const parent = parentOf(start.generation);
      if (parent === undefined) return act();
      const span = started(start, parent, Date.now());
      try {
        const result = await active.run(trace.setSpan(parent, span), act);
        if (end !== undefined) span.setAttributes(attributesOf(end(result)));
        return result;
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end(Date.now());
      }
    },
    record({ startMs, endMs, failed, link, ...start }) {
      const span = started(start, parentOf(start.generation) ?? ROOT_CONTEXT, startMs);
      if (link !== null) span.addLink({ context: { ...link, traceFlags: TraceFlags.NONE, isRemote: true } });
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endMs);
    },
    recordRoot(generation, fields) {
      root = rootOf(generation);
      if (root === null) return;
      const start = { name: 'generation', kind: 'internal', generation, fields } as const;
      const span = started(start, ROOT_CONTEXT, createdAtMs(root.traceId));
      root = null;
      span.end(Date.now());
    },
    current() {
      const context = active.getStore();
      const span = context === undefined ? undefined : trace.getSpanContext(context);
      return span === undefined ? null : { traceId: span.traceId, spanId: span.spanId };
    },
    async close() {
      const limit = sleep(CLOSE_LIMIT_MS, undefined, { ref: false });
      // What could not be sent is told of by the exporter.
      await Promise.race([provider.shutdown().catch(() => undefined), limit]);
    },
  };
}

function below(parent: TraceContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true });
}

/** What a log line may have, a span may have. */
function attributesOf(fields: LogFields): Record<string, string | number> {
  const { fields: allowed } = allowedFields(fields);
  return Object.fromEntries(
    Object.entries(allowed).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[`darkroom.${name}`, value]] : [],
    ),
  );
}

function tellingExporter(url: string, onProblem: (error: unknown) => void): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_LIMIT_MS, concurrencyLimit: 2 });
  const send = exporter.export.bind(exporter);
  let toldMs = Number.NEGATIVE_INFINITY;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error !== undefined && performance.now() - toldMs > TELL_EVERY_MS) {
        toldMs = performance.now();
        onProblem(result.error);
      }
      done(result);
    });
  return exporter;
}
