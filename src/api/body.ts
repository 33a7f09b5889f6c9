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
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > maxBytes + MAX_DRAINED_BYTES) break;
    }
  } catch {
    throw incompleteBody('The connection ended before the whole body came.');
  }
  if (bytes > maxBytes) throw bodyTooLarge(maxBytes);
  return Buffer.concat(chunks, bytes);
}
