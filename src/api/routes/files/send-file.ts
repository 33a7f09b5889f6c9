import { contentDisposition } from '../../../domain/content-disposition.ts';
import type { LinkedFile } from '../../../domain/file-links.ts';
import { answerFileRequest } from '../../../domain/http/file-request.ts';
import { findLinkedFile, type FoundFile } from '../../../services/find-linked-file.ts';
import { Problem } from '../../problems.ts';
import type { ApiContext, Call, Reply } from '../../route.ts';
import { linkTarget } from './link-target.ts';
import { fileNotFound, storageUnavailable } from './parts.ts';
import { streamOf } from './stream-file.ts';

const MAX_AGE_SECONDS = 3_600;
/** Pages of the tenant show the file; answers of other routes are for programs. */
const FOR_PAGES = { 'Cross-Origin-Resource-Policy': 'cross-origin' };

/** The answer to a link. `file` = what its path names, null when that can't be ours. @throws Problem */
export async function sendFile(ctx: ApiContext, call: Call, file: LinkedFile | null): Promise<Reply> {
  const found = await findLinkedFile(ctx, { file, ...linkTarget(call.request) });
  switch (found.outcome) {
    case 'found':
      return answerFile(ctx, call, found, 'linked');
    case 'link_invalid':
      throw new Problem('link_invalid', 'Use the link as it was given; a fresh one is in the generation.');
    case 'link_expired':
      throw new Problem('link_expired', 'Read the generation again: it has a fresh link.');
    case 'not_found':
      throw fileNotFound();
  }
}

/**
 * The file, or a part of it, as Range and conditions ask. @param by `linked` = whoever has its link, who may be sent on to
 * the storage; `key` = the tenant itself, in one answer. @throws Problem
 */
export async function answerFile(
  ctx: ApiContext,
  call: Call,
  found: FoundFile,
  by: 'linked' | 'key',
): Promise<Reply> {
  const { bytes, sha256 } = found.file;
  const { headers } = call.request;
  const tag = `"sha256-${sha256}"`;
  const method = call.request.method === 'HEAD' ? 'HEAD' : 'GET';
  const decided = answerFileRequest(
    {
      method,
      ifMatch: headers['if-match'],
      ifNoneMatch: headers['if-none-match'],
      ifRange: call.request.headersDistinct['if-range']?.join(),
      range: headers.range,
    },
    { tag, bytes },
  );
  // Whole seconds that the link still works: nothing that we hand out outlives it.
  const restSeconds = Math.floor((found.linkExpiresAt.getTime() - ctx.nowMs()) / 1_000);
  const maxAgeSeconds = Math.max(0, Math.min(MAX_AGE_SECONDS, restSeconds));
  // An address that does not end with the file is asked about each time, so that nobody shows what was deleted.
  const fresh = by === 'key' ? 'no-cache' : `max-age=${maxAgeSeconds}`;
  const cached = { ...FOR_PAGES, ETag: tag, 'Cache-Control': `private, ${fresh}` };
  switch (decided.status) {
    case 304:
      return { status: 304, headers: cached };
    case 412:
      throw new Problem(
        'precondition_failed',
        'The file has another ETag than If-Match names: get it whole.',
      );
    case 416:
      throw new Problem('invalid_range', 'Ask for bytes inside the size that Content-Range tells.', {
        headers: { 'Content-Range': `bytes */${bytes}` },
      });
    case 200:
    case 206: {
      const url = method === 'HEAD' || by === 'key' ? null : await presignedUrl(ctx, found, maxAgeSeconds);
      if (url !== null) return { status: 302, headers: { ...FOR_PAGES, Location: url } };
      const { range } = decided;
      const length = range === null ? bytes : range.end - range.start + 1;
      return {
        status: decided.status,
        headers: {
          ...cached,
          'Accept-Ranges': 'bytes',
          'Content-Length': String(length),
          'Content-Disposition': dispositionOf(found),
          'Content-Security-Policy': "default-src 'none'; sandbox",
          ...(range === null ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${bytes}` }),
        },
        contentType: found.file.mediaType,
        ...(method === 'HEAD' ? {} : { stream: await streamOf(ctx, call, found, { range, bytes: length }) }),
      };
    }
  }
}

/** A link of the storage itself, where that is wanted and possible. */
async function presignedUrl(ctx: ApiContext, found: FoundFile, seconds: number): Promise<string | null> {
  const { storage, fileDelivery } = ctx;
  // Inputs are fetched by providers, some of which follow no redirect (docs.dev.runwayml.com/assets/inputs).
  if (found.linked.kind === 'input') return null;
  if (fileDelivery.mode !== 'presigned' || storage.presign === undefined || seconds === 0) return null;
  try {
    return await storage.presign(found.file.path, {
      expiresInSeconds: seconds,
      contentType: found.file.mediaType,
      contentDisposition: dispositionOf(found),
    });
  } catch (error) {
    throw storageUnavailable(error);
  }
}

function dispositionOf({ linked, file }: FoundFile): string {
  const name = linked.kind === 'output' ? `${linked.generationId}-${linked.index}` : linked.inputId;
  return contentDisposition(name, file.mediaType);
}
