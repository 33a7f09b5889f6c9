import { Readable } from 'node:stream';
import { Agent } from 'undici';
import { decodeBody } from './decode.ts';
import { transferFailure } from './failures.ts';
import { joinHeaders } from './headers.ts';
import type { NetFailure } from './types.ts';

const MAX_ANSWER_BYTES = 64 * 1024;

export interface UploadRequest {
  /** Named by the operator, never by a tenant or a provider: no address is refused. */
  readonly url: string;
  readonly contentType: string;
  /** Of `body`, which must yield exactly as many. */
  readonly bytes: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** From the first look-up to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** `sentAll` is false where the answer came before the last bytes were handed over. */
export type UploadAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: Buffer; readonly sentAll: boolean }
  | { readonly kind: 'failed'; readonly reason: NetFailure };

/**
 * POSTs a body as it is read, with back pressure, over a connection of its own; follows no redirect and reads answers
 * of up to 64 KiB. Throws only what `body` threw, or `signal.reason`.
 */
export async function uploadFile(request: UploadRequest): Promise<UploadAnswer> {
  request.signal.throwIfAborted();
  const { url, contentType, bytes, timeoutMs } = request;
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  const timer = setTimeout(abort, timeoutMs);
  request.signal.addEventListener('abort', abort, { once: true });
  const agent = new Agent({ allowH2: false, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });
  const source = watch(request.body);
  try {
    const response = await agent.request({
      origin: new URL(url).origin,
      path: new URL(url).pathname + new URL(url).search,
      method: 'POST',
      headers: {
        'content-type': contentType,
        'content-length': String(bytes),
        'accept-encoding': 'identity',
      },
      body: source.body,
      signal: limit.signal,
    });
    const body = await collect(response.body);
    const encoding = joinHeaders(response.headers)['content-encoding'];
    const plain = body && decodeBody(body, encoding, MAX_ANSWER_BYTES);
    if (body === null) return { kind: 'failed', reason: 'answer_too_large' };
    if (!plain) return { kind: 'failed', reason: 'bad_answer' };
    return {
      kind: 'answer',
      status: response.statusCode,
      body: plain,
      sentAll: source.state.bytes === bytes,
    };
  } catch (error) {
    request.signal.throwIfAborted();
    if (source.state.failure !== null) throw source.state.failure.error;
    if (limit.signal.aborted) return { kind: 'failed', reason: 'timeout' };
    return { kind: 'failed', reason: transferFailure(error, url.startsWith('https:')) };
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener('abort', abort);
    // Closes the source where it was not read to its end.
    source.body.destroy();
    agent.destroy().catch(() => {});
  }
}

/** Counts what is handed over, and keeps the source's errors apart from the connection's. */
function watch(chunks: AsyncIterable<Uint8Array>) {
  const state: { bytes: number; failure: { readonly error: unknown } | null } = { bytes: 0, failure: null };
  async function* read(): AsyncGenerator<Uint8Array> {
    // A broken connection is thrown into the `yield`.
    let isOurs = false;
    try {
      for await (const chunk of chunks) {
        state.bytes += chunk.length;
        isOurs = true;
        yield chunk;
        isOurs = false;
      }
    } catch (error) {
      if (!isOurs) state.failure = { error };
      throw error;
    }
  }
  const body = Readable.from(read());
  // Told by the request that it breaks.
  body.on('error', () => {});
  return { state, body };
}

/** Null when there is more than we take. */
async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer | null> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return null;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
