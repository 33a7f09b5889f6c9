const UNAVAILABLE_PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028']);
/** Connection trouble, shutdown, too many connections, lock and statement timeouts, deadlocks, disk full. */
const UNAVAILABLE_SQLSTATE = /^(08|53|57P|40|55P03|57014|25006)/;
const UNAVAILABLE_TEXT =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|Connection terminated|timeout exceeded when trying to connect|Server has closed the connection|DatabaseNotReachable|SocketTimeout|ConnectionClosed/i;

/** The chain of causes of an error, outermost first, bounded. */
function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at: unknown = error; at !== undefined && at !== null && chain.length < 8;) {
    chain.push(at);
    at = (at as { cause?: unknown }).cause;
  }
  return chain;
}

function sqlState(value: unknown): string | undefined {
  const found = value as {
    code?: unknown;
    meta?: { code?: unknown; driverAdapterError?: unknown };
    originalCode?: unknown;
  };
  for (const code of [found.meta?.code, found.originalCode, found.code]) {
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/**
 * True when the database could not be asked or could not answer now, so that the same call may be made again
 * (every function adopts what stands). False for a refused fact or a defect.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return causes(error).some((cause) => {
    const { code, message } = cause as { code?: unknown; message?: unknown };
    if (typeof code === 'string' && UNAVAILABLE_PRISMA.has(code)) return true;
    const state = sqlState(cause);
    if (state !== undefined && UNAVAILABLE_SQLSTATE.test(state)) return true;
    return typeof message === 'string' && UNAVAILABLE_TEXT.test(message);
  });
}
