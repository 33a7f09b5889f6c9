const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const OF_GENERATION = /^(?:gen|sub)_([0-7][0-9a-hjkmnp-tv-z]{25})(?:_\d{1,4})?$/;

/** The two ids of W3C trace context, in lower-case hex. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * The trace of a generation: the 128 bits of its UUIDv7 id as 32 hex digits. So all of its lines and spans share it in every
 * process, and nothing travels through Temporal for it. Null for what is no id of a generation or of its submission.
 */
export function traceIdOf(id: string): string | null {
  const digits = OF_GENERATION.exec(id)?.[1];
  if (digits === undefined) return null;
  let value = 0n;
  for (const digit of digits) value = (value << 5n) | BigInt(BASE32.indexOf(digit));
  return value === 0n ? null : value.toString(16).padStart(32, '0');
}

/** The span that all others of a generation lie below; the second half of its id, which is never 0 in a UUID. */
export function rootOf(id: string): TraceContext | null {
  const traceId = traceIdOf(id);
  const spanId = traceId?.slice(16) ?? '';
  return traceId === null || /^0*$/.test(spanId) ? null : { traceId, spanId };
}

/** When a generation was created, in milliseconds since 1970: the first 48 bits of its id. */
export function createdAtMs(traceId: string): number {
  return Number.parseInt(traceId.slice(0, 12), 16);
}

/** A caller's `traceparent` header (W3C trace context, version 00); null when it is none. */
export function parseTraceparent(header: string | undefined): TraceContext | null {
  const [, traceId = '', spanId = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(header ?? '') ?? [];
  return /^0*$/.test(traceId) || /^0*$/.test(spanId) ? null : { traceId, spanId };
}

/** The header that tells the other side which span calls it. */
export function traceparent({ traceId, spanId }: TraceContext): string {
  return `00-${traceId}-${spanId}-01`;
}
