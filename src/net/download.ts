import { continues, type Entity, readEntity } from './entity.ts';
import type { Connecting } from './get-stream.ts';
import { startLimits } from './limits.ts';
import { failed, limitFailure, openSource, type OpenSource, rejected, type Transfer } from './open-source.ts';
import type { DownloadAnswer, DownloadRequest } from './types.ts';

const MAX_RESUMES = 5;

type Failed = Extract<DownloadAnswer, { kind: 'failed' }>;

/** Streams one file; see OutboundHttp.download. */
export async function downloadFile(
  connecting: Connecting,
  request: DownloadRequest,
): Promise<DownloadAnswer> {
  request.signal.throwIfAborted();
  const limits = startLimits(request.limits, request.signal);
  try {
    const answer = await fetchWhole({ connecting, request, limits });
    if (answer.kind !== 'complete') request.signal.throwIfAborted();
    return answer;
  } finally {
    limits.stop();
  }
}

/** The whole file; where its source breaks off, the rest is asked for, as long as each time brings some of it. */
async function fetchWhole(transfer: Transfer): Promise<DownloadAnswer> {
  const first = await openSource(transfer, 'whole');
  if (first.kind !== 'open') return first;
  const entity = readEntity(first.headers, transfer.request.limits.maxBytes);
  if ('kind' in entity) {
    first.close();
    return entity;
  }
  let source = first;
  let bytes = 0;
  for (let resumes = 0; ; resumes++) {
    const part = await receive(transfer, source, bytes, entity);
    if (part.kind === 'end') {
      const { contentType } = entity;
      return { kind: 'complete', bytes: part.bytes, contentType, ...(resumes > 0 && { resumes }) };
    }
    if (part.kind !== 'broken') return part;
    if (part.bytes === bytes || resumes === MAX_RESUMES) return failed(part.reason);
    bytes = part.bytes;
    const next = await resume(transfer, bytes, entity);
    if (next === null) return failed(part.reason);
    source = next;
  }
}

/** The rest of the file from there on, or null when its source does not offer exactly that. */
async function resume(transfer: Transfer, from: number, entity: Entity): Promise<OpenSource | null> {
  if (entity.validator === null || entity.bytes === null || from >= entity.bytes) return null;
  const limit = transfer.limits.reached();
  if (limit !== null && limit !== 'idle') return null;
  // From the first URL on, so that every check is made again and a signed redirect is a fresh one.
  const source = await openSource(transfer, { from, validator: entity.validator });
  if (source.kind !== 'open') return null;
  if (continues(source.headers, from, entity)) return source;
  source.close();
  return null;
}

type Part =
  | { readonly kind: 'end'; readonly bytes: number }
  | Extract<DownloadAnswer, { kind: 'rejected' | 'failed' }>
  /** The source broke off after so many bytes of the file. */
  | { readonly kind: 'broken'; readonly bytes: number; readonly reason: Failed['reason'] };

/** Hands one body on chunk by chunk, as the file's bytes from `from` on; cut off above the limit. */
async function receive(
  { request, limits }: Transfer,
  { body, failure, close }: OpenSource,
  from: number,
  entity: Entity,
): Promise<Part> {
  let bytes = from;
  const broken = (reason: Failed['reason']): Part => ({ kind: 'broken', bytes, reason });
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextChunk(chunks);
      // Asked first: what is read ahead already still comes after the end.
      if (limits.reached() !== null) return broken(limitFailure(limits));
      if (next.kind === 'error') return broken(failure());
      if (next.kind === 'end') break;
      const after = bytes + next.chunk.length;
      if (after > request.limits.maxBytes) return rejected('too_large');
      if (entity.bytes !== null && after > entity.bytes) return failed('bad_answer');
      limits.hold(next.chunk.length);
      await request.write(next.chunk);
      bytes = after;
      limits.touch();
      request.onProgress?.(bytes);
    }
  } finally {
    close();
  }
  if (entity.bytes !== null && entity.bytes !== bytes) return broken('truncated');
  return { kind: 'end', bytes };
}

type Next =
  | { readonly kind: 'chunk'; readonly chunk: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'error' };

/** Keeps the source's errors apart from the sink's. */
async function nextChunk(chunks: AsyncIterator<Uint8Array>): Promise<Next> {
  try {
    const { done, value } = await chunks.next();
    return done ? { kind: 'end' } : { kind: 'chunk', chunk: value };
  } catch {
    return { kind: 'error' };
  }
}
