const UNAVAILABLE_PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028']);
/** What the driver adapter calls connection trouble (@prisma/driver-adapter-utils, MappedError). */
const UNAVAILABLE_KINDS = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TransactionWriteConflict',
  'AuthenticationFailed',
  'DatabaseDoesNotExist',
  'DatabaseAccessDenied',
]);
/**
 * Connection trouble, refused log-in or database, shutdown, too many connections, lock and statement timeouts,
 * deadlocks, disk full, read-only.
 */
const UNAVAILABLE_SQLSTATE = /^(08...|28...|3D000|53...|55000|55P03|57P..|57014|40...|25006)$/;
const UNAVAILABLE_TEXT =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|is not queryable|Connection terminated|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end/;

interface Layer {
  readonly code?: unknown;
  readonly kind?: unknown;
  readonly message?: unknown;
  readonly originalCode?: unknown;
  readonly cause?: unknown;
  readonly meta?: { readonly driverAdapterError?: unknown };
}

/** The error and what it wraps, outermost first, bounded: Prisma keeps the driver's error in `meta`. */
function layers(error: unknown): Layer[] {
  const chain: Layer[] = [];
  for (let at: unknown = error; typeof at === 'object' && at !== null && chain.length < 8;) {
    const layer = at as Layer;
    chain.push(layer);
    at = layer.cause ?? layer.meta?.driverAdapterError;
  }
  return chain;
}

/**
 * True when the database could not be asked or could not answer now, so that the same call may be made again
 * (every function adopts what stands). False for a refused fact or a defect.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return layers(error).some(({ code, kind, originalCode, message }) => {
    if (typeof kind === 'string' && UNAVAILABLE_KINDS.has(kind)) return true;
    for (const value of [code, originalCode]) {
      if (typeof value !== 'string') continue;
      if (UNAVAILABLE_PRISMA.has(value) || UNAVAILABLE_SQLSTATE.test(value)) return true;
      // Of a host with several addresses, no message tells it.
      if (UNAVAILABLE_TEXT.test(value)) return true;
    }
    return typeof message === 'string' && UNAVAILABLE_TEXT.test(message);
  });
}

/** True for a deadlock or a serialization failure (SQLSTATE 40P01, 40001): undone as a whole, so it may be repeated. */
export function isConflict(error: unknown): boolean {
  return layers(error).some(
    ({ code, kind, originalCode }) =>
      kind === 'TransactionWriteConflict' ||
      [code, originalCode].some((value) => value === '40P01' || value === '40001' || value === 'P2034'),
  );
}
