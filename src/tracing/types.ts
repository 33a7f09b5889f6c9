import type { LogFields } from '../domain/log-fields.ts';
import type { TraceContext } from '../domain/trace-id.ts';

export type SpanKind = 'server' | 'client' | 'internal';

export interface SpanStart {
  /** A fixed text, or built from names in our code. */
  readonly name: string;
  readonly kind: SpanKind;
  /** Whose trace it belongs to; null = that of the span under way. */
  readonly generation: string | null;
  readonly fields: LogFields;
}

/** A span that is over when it is told. Times are milliseconds since 1970. */
export interface EndedSpan extends SpanStart {
  readonly startMs: number;
  readonly endMs: number;
  readonly failed: boolean;
  /** A span of the caller, which is shown beside it. */
  readonly link: TraceContext | null;
}

export interface Tracing {
  /** false = nothing is made; then what would only prepare a span can be left out. */
  readonly on: boolean;
  /** Runs `act` as one span; `end` adds to its fields from what it gave. Without a trace to belong to it just runs. */
  span<T>(start: SpanStart, act: () => Promise<T>, end?: (result: T) => LogFields): Promise<T>;
  /** Without a generation it begins a trace of its own. */
  record(span: EndedSpan): void;
  /** The span that all others of a generation lie below, once it has ended. */
  recordRoot(generation: string, fields: LogFields): void;
  /** The span under way, for a header of a call. */
  current(): TraceContext | null;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

/** Tracing that is off. */
export const NO_TRACING: Tracing = {
  on: false,
  span: (_start, act) => act(),
  record() {},
  recordRoot() {},
  current: () => null,
  close: async () => {},
};
