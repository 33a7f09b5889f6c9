import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ByteRange } from '../../../domain/http/file-request.ts';
import { isStored, type FoundFile } from '../../../services/find-linked-file.ts';
import { openFile, type OpenedFile } from '../../../services/open-file.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext, Call, Reply } from '../../route.ts';
import { fileNotFound, RETRY, storageUnavailable } from './parts.ts';

interface Part {
  /** null = all. */
  readonly range: ByteRange | null;
  /** How many these are. */
  readonly bytes: number;
}

/**
 * The bytes of a file, opened before anything is answered. Place and file are given back when the response is over,
 * however it ends. @throws Problem when all places are taken or the storage fails
 */
export async function streamOf(
  ctx: ApiContext,
  { signal }: Call,
  { linked, tenantId, file }: FoundFile,
  { range, bytes }: Part,
): Promise<NonNullable<Reply['stream']>> {
  const { streams, idleMs, firstByteMs } = ctx.fileDelivery;
  const release = streams.take(tenantId);
  if (release === null) {
    throw new Problem('busy', 'Too many files are being sent now: send the same request again.', RETRY);
  }
  const opened = await openFile(ctx.storage, { path: file.path, range, firstByteMs, signal }).catch(
    async (error: unknown) => {
      release();
      // Deleted in the same moment, or the storage is away.
      throw (await isStored(ctx, linked)) ? storageUnavailable(error) : fileNotFound();
    },
  );
  const end = (): void => {
    opened.close();
    release();
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return (response) => write(response, opened, { bytes, idleMs, signal });
}

interface Limits {
  readonly bytes: number;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** Exactly this many bytes, never more at a time than the reader takes. @throws Problem when the storage fails */
async function write(response: ServerResponse, file: OpenedFile, limits: Limits): Promise<void> {
  const { bytes, idleMs, signal } = limits;
  // Of the socket, so that it also covers what is still in its buffer at the end.
  response.setTimeout(idleMs, () => response.destroy());
  try {
    let left = bytes;
    for (let chunk = await file.next(); chunk !== null; chunk = await file.next()) {
      left -= chunk.length;
      if (left < 0) break;
      if (!response.write(chunk)) await once(response, 'drain', { signal });
    }
    if (left !== 0) throw new Error('the stored file has another size than its row');
  } catch (error) {
    // The reader has gone, or was cut.
    if (!signal.aborted) throw storageUnavailable(error);
  }
}
