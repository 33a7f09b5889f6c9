import type { IncomingMessage, ServerResponse } from 'node:http';

const held = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Of a client that asks before it sends its body (`Expect: 100-continue`): it is told to when somebody begins to read it. An
 * answer before that ends the connection, by Node, since nobody can know whether the body follows (RFC 9110 §10.1.1).
 */
export function holdContinue(request: IncomingMessage, response: ServerResponse): void {
  held.set(request, response);
}

/** Whether the client waits still. */
export function isHeld(request: IncomingMessage): boolean {
  return held.has(request);
}

/** `100 Continue`, once, for who waits for it. */
export function inviteBody(request: IncomingMessage): void {
  const response = held.get(request);
  held.delete(request);
  response?.writeContinue();
}
