import type { Receiver } from './receiver.ts';

/** One span as OTLP's JSON has it. */
export interface SpanJson {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
  /** `service.name` of the process. */
  readonly service: string;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SpanJson['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<SpanJson, 'service'>[] }[];
  }[];
}

/** All spans that a collector at this receiver was sent so far. */
export function spansAt(receiver: Receiver): SpanJson[] {
  return receiver
    .at('/v1/traces')
    .flatMap(({ body }) => (JSON.parse(body) as Export).resourceSpans)
    .flatMap(({ resource, scopeSpans }) => {
      const name = resource.attributes.find(({ key }) => key === 'service.name')?.value['stringValue'];
      return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service: String(name) })));
    });
}

/** The attributes of a span by name, without the common prefix. */
export function attributesOf(span: SpanJson): Record<string, unknown> {
  return Object.fromEntries(
    span.attributes.map(({ key, value }) => [key.replace(/^darkroom\./, ''), Object.values(value)[0]]),
  );
}
