import type { IncomingMessage } from 'node:http';
import { inviteBody, isHeld } from './continue.ts';
import { Problem } from './problems.ts';

/** How much of a body that is too large is still read away, so that the client sees the answer and not a reset. */
export const MAX_DRAINED_BYTES = 8 * 1024 * 1024;

/** @throws Problem 415 for a body that would have to be inflated. */
export function assertPlain(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new Problem('unsupported_content_encoding', 'Send the body as it is, without Content-Encoding.', {
    headers: { 'Accept-Encoding': 'identity' },
  });
}

/** @param reason a sentence of what happened */
export function incompleteBody(reason: string): Problem {
  return new Problem('incomplete_body', `${reason} Send the request again.`, {
    headers: { Connection: 'close' },
  });
}

export function bodyTooLarge(maxBytes: number): Problem {
  return new Problem('body_too_large', `Send at most ${maxBytes} bytes.`, {
    headers: { Connection: 'close' },
  });
}

/**
 * Lets the client send its body, if it waits for that; a body that may not come is refused before.
 * @throws Problem 413, 415
 */
export function expectBody(request: IncomingMessage, maxBytes: number): void {
  assertPlain(request);
  if (isHeld(request) && Number(request.headers['content-length'] ?? 0) > maxBytes)
    throw bodyTooLarge(maxBytes);
  inviteBody(request);
}

/**
 * The raw bytes of a body, at most `maxBytes`. Never inflated: any Content-Encoding is refused. How long it may take is
 * limited by the server (body-time.ts).
 * @throws Problem 413, 415, or 400 when the client ended early.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  expectBody(request, maxBytes);
  // One buffer that doubles: kept in pieces, a body that comes byte by byte would take hundreds of times its size.
  let held = Buffer.alloc(0);
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const at = bytes;
      bytes += chunk.length;
      if (bytes > held.length && bytes <= maxBytes) {
        const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(2 * held.length, bytes)));
        held.copy(larger, 0, 0, at);
        held = larger;
      }
      if (bytes <= maxBytes) chunk.copy(held, at);
      if (bytes > maxBytes + MAX_DRAINED_BYTES) break;
    }
  } catch {
    throw incompleteBody('The connection ended before the whole body came.');
  }
  if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
  return held.subarray(0, bytes);
}
