import { failed, rejected } from './open-source.ts';
import type { DownloadAnswer } from './types.ts';

type Headers = Readonly<Record<string, string>>;

/** What the headers of a whole answer say of the file. */
export interface Entity {
  readonly contentType: string | null;
  /** null = not told, so that only the end of the body tells. */
  readonly bytes: number | null;
  /** For If-Range; null = the source tells nothing by which the very same bytes could be asked for again. */
  readonly validator: string | null;
}

/** Reads and judges the headers: anything but the identity encoding is refused, as is more than `maxBytes`. */
export function readEntity(
  headers: Headers,
  maxBytes: number,
): Entity | Extract<DownloadAnswer, { kind: 'rejected' | 'failed' }> {
  const length = headers['content-length'];
  const bytes = length === undefined ? null : Number(length);
  if (isEncoded(headers)) return rejected('encoded');
  if (bytes !== null && !Number.isSafeInteger(bytes)) return failed('bad_answer');
  if (bytes !== null && bytes > maxBytes) return rejected('too_large');
  return { contentType: headers['content-type'] ?? null, bytes, validator: strongValidator(headers) };
}

function isEncoded(headers: Headers): boolean {
  const content = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const transfer = (headers['transfer-encoding'] ?? 'chunked').trim().toLowerCase();
  return content !== 'identity' || transfer !== 'chunked';
}

const STRONG_ETAG = /^"[\x21\x23-\x7e]*"$/;

/**
 * RFC 9110 §13.1.5: a strong ETag, or, where there is none at all, a Last-Modified that is strong because the answer is
 * at least a second younger (§8.8.2.2).
 */
function strongValidator({ etag, 'last-modified': modified, date }: Headers): string | null {
  if (etag !== undefined) return STRONG_ETAG.test(etag) ? etag : null;
  if (modified === undefined || date === undefined) return null;
  return Date.parse(date) - Date.parse(modified) >= 1_000 ? modified : null;
}

const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;

/** True when this 206 goes on exactly at `from` in the very same file; whatever it leaves unclear means no. */
export function continues(headers: Headers, from: number, entity: Entity): boolean {
  const [, first, last, total] = CONTENT_RANGE.exec(headers['content-range']?.trim() ?? '') ?? [];
  const length = headers['content-length'];
  const told = entity.validator?.startsWith('"') ? headers['etag'] : headers['last-modified'];
  return (
    !isEncoded(headers) &&
    Number(first) === from &&
    Number(total) === entity.bytes &&
    Number(last) < Number(total) &&
    (length === undefined || Number(length) === Number(last) - from + 1) &&
    (told === undefined || told === entity.validator)
  );
}
