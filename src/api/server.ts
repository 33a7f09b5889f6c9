import { createServer, type RequestListener, type Server } from 'node:http';
import { limitAnswerTime } from './answer-time.ts';
import { limitBodyTime } from './body-time.ts';
import { holdContinue } from './continue.ts';
import { createRefusals, problemForUnreadable } from './unreadable.ts';

const HEADERS_TIMEOUT_MS = 10_000;
/** For uploads, 64 MiB at 250 kB a second; all other bodies have less. */
const REQUEST_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 30_000;
const ANSWER_TIMEOUT_MS = 60_000;
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
 * @param options.bodyTimeoutMs for every body but those of uploads (`allowLongBody`)
 * @param options.answerTimeoutMs for a client to take what was sent to it
 */
export function createApiServer(
  app: RequestListener,
  {
    bodyTimeoutMs = BODY_TIMEOUT_MS,
    answerTimeoutMs = ANSWER_TIMEOUT_MS,
  }: { readonly bodyTimeoutMs?: number; readonly answerTimeoutMs?: number } = {},
): Server {
  const refusals = createRefusals();
  const handle: RequestListener = (request, response) => {
    if (!refusals.accept(request, response)) return;
    limitBodyTime(request, response, bodyTimeoutMs, () => problemForUnreadable(408));
    limitAnswerTime(response, answerTimeoutMs);
    app(request, response);
  };
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
      // Refusals look at it, and answer with a problem.
      requireHostHeader: false,
    },
    handle,
  );
  server.maxConnections = MAX_CONNECTIONS;
  // Node silently drops headers beyond a count; the 16 kB limit on all of them bounds them already.
  server.maxHeadersCount = 0;
  // Node itself would say 100 at once, whoever asks.
  server.on('checkContinue', (request, response) => {
    holdContinue(request, response);
    handle(request, response);
  });
  server.on('checkExpectation', (_request, response) => refusals.refuse(response, 417));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    refusals.end(socket, problemForUnreadable(CLIENT_ERRORS[error.code ?? ''] ?? 400));
  });
  return server;
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
