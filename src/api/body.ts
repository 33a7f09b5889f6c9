import type { IncomingMessage } from 'node:http';
import { Problem } from './problems.ts';

/** How much of a body that is too large is still read away, so that the client sees the answer and not a reset. */
const MAX_DRAINED_BYTES = 8 * 1024 * 1024;

/**
 * The raw bytes of a body, at most `maxBytes`. Never inflated: any Content-Encoding is refused.
 * @throws Problem 413, 415, or 400 when the client ended early.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new Problem('unsupported_content_encoding', 'Send the body as it is, without Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    });
  }
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
    throw new Problem(
      'incomplete_body',
      'The connection ended before the whole body came. Send the request again.',
    );
  }
  if (bytes > maxBytes) {
    throw new Problem('body_too_large', `Send at most ${maxBytes} bytes.`, {
      headers: { Connection: 'close' },
    });
  }
  return Buffer.concat(chunks, bytes);
}
