import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long a client may still read the answer that ends its connection. */
const LINGER_MS = 1_000;

/** Of each body that is limited: gives it its whole time from now on, or takes the limit away. */
const limits = new WeakMap<IncomingMessage, { readonly begin: () => void; readonly end: () => void }>();

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
  const cut = (): void => {
    if (request.complete) return;
    if (response.headersSent || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(answer());
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => clearTimeout(timer);
  const begin = (): void => {
    end();
    if (!request.complete && !request.destroyed) timer = setTimeout(cut, limitMs).unref();
  };
  begin();
  limits.set(request, { begin, end });
  request.once('close', end);
}

/**
 * For a file, whose sender is known and has a place among those that are received at once: as long as it comes, the body
 * may take as long as the server lets any request take.
 * @returns limits it again, to its whole time from then on; to be called when the place, or the file, is over
 */
export function allowLongBody(request: IncomingMessage): () => void {
  const limit = limits.get(request);
  limit?.end();
  return () => limit?.begin();
}
