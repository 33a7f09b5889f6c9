import type { IncomingMessage } from 'node:http';
import { bodyTooLarge, expectBody, incompleteBody, MAX_DRAINED_BYTES } from './body.ts';

/**
 * Hands a body on chunk by chunk, as fast as `write` takes them; nothing is kept. Never inflated. A body that is too
 * large is known from its Content-Length, else at the first byte above.
 * @param idleMs without a byte for this long it counts as ended
 * @throws Problem 413, 415, or 400 when the client ended early; what `write` throws
 */
export async function streamBody(
  request: IncomingMessage,
  { maxBytes, idleMs }: { readonly maxBytes: number; readonly idleMs: number },
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  expectBody(request, maxBytes);
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  let bytes = 0;
  let tooLarge = Number(request.headers['content-length'] ?? 0) > maxBytes;
  // A part is still read away, so that the client sees the answer and not a reset.
  const readAtMost = (tooLarge ? 0 : maxBytes) + MAX_DRAINED_BYTES;
  for (;;) {
    const chunk = await nextChunk(chunks, idleMs);
    if (chunk === null) break;
    bytes += chunk.length;
    tooLarge ||= bytes > maxBytes;
    if (!tooLarge) await write(chunk);
    else if (bytes > readAtMost) break;
  }
  if (tooLarge) throw bodyTooLarge(maxBytes);
}

/** The next chunk; null at the end of a whole body. @throws Problem 400 */
function nextChunk(chunks: AsyncIterator<Buffer>, idleMs: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(incompleteBody(`No byte came for ${idleMs / 1_000} seconds.`)),
      idleMs,
    );
    chunks
      .next()
      .then(
        ({ done, value }) => resolve(done === true ? null : value),
        () => reject(incompleteBody('The connection ended before the whole body came.')),
      )
      .finally(() => clearTimeout(timer));
  });
}
