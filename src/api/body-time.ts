import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long a client may still read the answer that ends its connection. */
const LINGER_MS = 1_000;

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Cuts off a body that is not there in time: with these bytes, or at once where an answer was begun. Node's own
 * limit is one for all requests, so it has to be as long as that of the longest upload.
 */
export function limitBodyTime(
  request: IncomingMessage,
  response: ServerResponse,
  limitMs: number,
  answer: () => string,
): void {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (length === '0' && coding === undefined) return;
  const { socket } = request;
  const timer = setTimeout(() => {
    if (request.complete) return;
    if (response.headersSent || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(answer());
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }, limitMs);
  timer.unref();
  timers.set(request, timer);
  request.once('close', () => clearTimeout(timer));
}

/** For an upload, whose caller is known: its body may take as long as the server lets any request take. */
export function allowLongBody(request: IncomingMessage): void {
  clearTimeout(timers.get(request));
}
