import { createServer, STATUS_CODES, type RequestListener, type Server } from 'node:http';
import { limitBodyTime } from './body-time.ts';
import { PROBLEMS } from './problems.ts';

const HEADERS_TIMEOUT_MS = 10_000;
/** For uploads, 64 MiB at 250 kB a second; all other bodies have less. */
const REQUEST_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 30_000;
/** Above the idle time of usual proxies (60 s), so that the proxy closes first and never races a request. */
const KEEP_ALIVE_MS = 75_000;
const MAX_CONNECTIONS = 2_000;

/** How Node names what it could not parse, as a status. */
const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/**
 * A server with limits on slow, huge and many senders; it doesn't listen yet.
 * @param bodyTimeoutMs for every body but those of uploads (`allowLongBody`)
 */
export function createApiServer(
  app: RequestListener,
  { bodyTimeoutMs = BODY_TIMEOUT_MS }: { readonly bodyTimeoutMs?: number } = {},
): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      limitBodyTime(request, response, bodyTimeoutMs, () => problemForUnreadable(408));
      app(request, response);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Node silently drops headers beyond a count; the 16 kB limit on all of them bounds them already.
  server.maxHeadersCount = 0;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(problemForUnreadable(CLIENT_ERRORS[error.code ?? ''] ?? 400));
  });
  return server;
}

/** A whole answer to bytes that never became a request. */
function problemForUnreadable(status: number): string {
  const body = JSON.stringify({
    type: '/docs#problem-malformed_http',
    title: PROBLEMS.malformed_http.title,
    status,
    code: 'malformed_http',
    detail: 'Send a well-formed HTTP/1.1 request, headers of at most 16 kB, without long pauses.',
    instance: 'unknown',
  });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Resolves with the port once it listens. @throws with what to do when the address is taken or not ours. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Error(`The API can't listen on ${host}:${port} (${error.code}): set another PORT or HOST.`));
    });
    server.listen({ port, host, backlog: 1_024 }, () => resolve(portOf(server)));
  });
}

/** Takes no new connections, lets requests in flight end, and cuts what is left after the limit. */
export function closeServer(server: Server, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), limitMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
