import { Readable } from 'node:stream';
import type { Storage } from '../storage/index.ts';

/** A stored file whose first bytes are there. */
export interface OpenedFile {
  /** The next bytes; null at the end. @throws what the storage throws, or the reason of the signal */
  next(): Promise<Uint8Array | null>;
  /** Gives it up, whatever is under way; idempotent. */
  close(): void;
}

/**
 * Opens a file and waits for its first bytes, so that a storage that fails is known before anything is answered.
 * @param signal ends all of its life. @throws what the storage throws, or the reason of the signal, or a timeout
 */
export async function openFile(
  storage: Storage,
  {
    path,
    range,
    firstByteMs,
    signal,
  }: {
    readonly path: string;
    readonly range: { readonly start: number; readonly end: number } | null;
    readonly firstByteMs: number;
    readonly signal: AbortSignal;
  },
): Promise<OpenedFile> {
  let source: AsyncIterable<Uint8Array> | undefined;
  let bytes: AsyncIterator<Uint8Array> | undefined;
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    // Ends a read that hangs; an iterator would wait for it.
    if (source instanceof Readable) source.destroy();
    else bytes?.return?.().catch(() => {});
  };
  const begin = async () => {
    source = await storage.read(path, range ?? undefined);
    bytes = source[Symbol.asyncIterator]();
    if (isClosed) close();
    return bytes.next();
  };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(firstByteMs)]);
  let first: IteratorResult<Uint8Array> | null = await orAborted(begin(), limit).catch((error: unknown) => {
    close();
    throw error;
  });
  return {
    async next() {
      const step = first ?? (await orAborted(bytes!.next(), signal));
      first = null;
      return step.done === true ? null : step.value;
    },
    close,
  };
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
