import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { PROBLEMS } from './problems.ts';

/** How long a client may still read the answer that ends its connection, and leave it open on its side. */
const LINGER_MS = 10_000;

/**
 * Whether another server on the way could read it as another request: not exactly one Host, a transfer coding that is
 * not `chunked` alone, or a version that has none of both (RFC 9112 §3.2, §6.1). Node lets these pass.
 */
function isAmbiguous({ httpVersion, headersDistinct }: IncomingMessage): boolean {
  const { host = [], 'transfer-encoding': codings } = headersDistinct;
  if (httpVersion !== '1.1') return httpVersion !== '1.0' || host.length > 1 || codings !== undefined;
  return host.length !== 1 || (codings !== undefined && codings.join().toLowerCase() !== 'chunked');
}

function bodyOf(status: number): string {
  return JSON.stringify({
    type: '/docs#problem-malformed_http',
    title: PROBLEMS.malformed_http.title,
    status,
    code: 'malformed_http',
    detail: 'Send a well-formed HTTP/1.1 request, headers of at most 16 kB, without long pauses.',
    instance: 'unknown',
  });
}

function headersOf(body: string) {
  return {
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
}

/** A whole answer to bytes that never became a request. */
export function problemForUnreadable(status: number): string {
  const body = bodyOf(status);
  const headers = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers, '', body].join('\r\n');
}

/** What a server refuses before the app sees it; with it ends the connection, so that nothing after it is taken for a request. */
export interface Refusals {
  /** Whether this request is one for the app; else it is answered, or never will be. */
  accept(request: IncomingMessage, response: ServerResponse): boolean;
  refuse(response: ServerResponse, status: number): void;
  /** Ends the connection with these bytes, after the answers to the whole requests before them. */
  end(socket: Duplex, answer: string): void;
}

export function createRefusals(): Refusals {
  const open = new WeakMap<Duplex, Set<ServerResponse>>();
  const ended = new WeakSet<Duplex>();

  function refuse(response: ServerResponse, status: number): void {
    ended.add(response.req.socket);
    response.req.resume();
    const body = bodyOf(status);
    response.writeHead(status, headersOf(body)).end(body);
  }

  return {
    refuse,
    accept(request, response) {
      const { socket } = request;
      // Sent ahead, behind one that was refused: who knows where that one really ended?
      if (ended.has(socket)) return false;
      if (isAmbiguous(request)) {
        refuse(response, 400);
        return false;
      }
      if (request.headers.upgrade !== undefined) {
        // Never done, but Node skips what came with it, and the answer to a later request would look like that to this.
        response.shouldKeepAlive = false;
        ended.add(socket);
      }
      const responses = open.get(socket) ?? new Set();
      open.set(socket, responses.add(response));
      response.once('close', () => responses.delete(response));
      return true;
    },
    end(socket, answer) {
      // Node tells of it again for each further piece.
      if (ended.has(socket)) return;
      ended.add(socket);
      // Told 400 for a generation that was made, a client would make it again.
      const before = [...(open.get(socket) ?? [])].filter(({ req }) => req.complete);
      const tell = () => {
        socket.end(answer);
        setTimeout(() => socket.destroy(), LINGER_MS).unref();
      };
      const last = before.at(-1);
      if (last === undefined) tell();
      else last.once('close', tell);
    },
  };
}
