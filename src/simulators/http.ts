import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request with its whole body, as a protocol handles it. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly response: ServerResponse;
}

/** What a protocol answers: JSON unless the body is bytes. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Room for a file inline, as a `data:` URI. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

export function sendBytes(
  { response }: Exchange,
  status: number,
  contentType: string,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': bytes.length, ...headers });
  response.end(bytes);
}

export function sendJson(
  exchange: Exchange,
  status: number,
  value: unknown,
  headers?: Readonly<Record<string, string>>,
): void {
  sendBytes(exchange, status, 'application/json', Buffer.from(JSON.stringify(value)), headers);
}

export function sendAnswer(exchange: Exchange, { status, body, headers }: Answer): void {
  if (body instanceof Uint8Array) sendBytes(exchange, status, 'application/json', body, headers);
  else sendJson(exchange, status, body, headers);
}

/** Cuts the connection without an answer. */
export function reset({ response }: Exchange): void {
  response.socket?.resetAndDestroy();
}

/** The text of one member of a JSON body, found by its path; '' when there is none. */
export function textIn(exchange: Exchange, ...path: readonly (string | number)[]): string {
  let found = jsonBody(exchange);
  for (const name of path) {
    found =
      typeof found === 'object' && found !== null ? (found as Record<string | number, unknown>)[name] : '';
  }
  return typeof found === 'string' ? found : '';
}

/** Whether the request carries one of these keys as `<scheme> <key>` in this header. */
export function hasKey(
  exchange: Exchange,
  apiKeys: readonly string[],
  scheme = 'Bearer',
  header = 'authorization',
): boolean {
  return apiKeys.some((key) => exchange.headers[header] === (scheme === '' ? key : `${scheme} ${key}`));
}

/** The body as JSON; undefined when it is none. */
export function jsonBody(exchange: Exchange): unknown {
  try {
    return JSON.parse(exchange.body.toString('utf8'));
  } catch {
    return undefined;
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (exchange: Exchange) => void | Promise<void>,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://simulator');
  const body = await readBody(request);
  const exchange = { method: request.method ?? 'GET', url, headers: request.headers, response };
  if (body !== null) {
    await handle({ ...exchange, body });
    return;
  }
  const error = { type: 'invalid_request_error', code: 'body_too_large', message: 'Send at most 8 MiB.' };
  sendJson({ ...exchange, body: Buffer.alloc(0) }, 413, { error }, { connection: 'close' });
}

/** Listens on 127.0.0.1 only; `port` 0 takes a free one. */
export async function listen(
  port: number,
  handle: (exchange: Exchange) => void | Promise<void>,
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    respond(request, response, handle).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Ends all connections and waits for the server to stop. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeAllConnections();
  await closed;
}
