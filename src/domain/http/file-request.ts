import { matchesEntityTag } from './entity-tag.ts';

/** The headers that decide how much of a file is sent, as they came. */
export interface FileRequest {
  readonly method: 'GET' | 'HEAD';
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly ifRange: string | undefined;
  readonly range: string | undefined;
}

/** Inclusive, from 0. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type FileAnswer =
  | { readonly status: 200; readonly range: null }
  | { readonly status: 206; readonly range: ByteRange }
  | { readonly status: 304 | 412 | 416 };

const WHOLE: FileAnswer = { status: 200, range: null };
const SINGLE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * How a file with this strong tag (in quotes) and size in bytes is answered: the conditions in the order of RFC 9110
 * §13.2.2, then one range (§14.2). Times are ignored, since no Last-Modified is sent; several ranges, other units and
 * ranges that can't be read give the whole file.
 */
export function answerFileRequest(
  request: FileRequest,
  file: { readonly tag: string; readonly bytes: number },
): FileAnswer {
  const { method, ifMatch, ifNoneMatch, ifRange, range } = request;
  if (ifMatch !== undefined && !isSame(ifMatch, file.tag)) return { status: 412 };
  if (matchesEntityTag(ifNoneMatch, file.tag)) return { status: 304 };
  // Only for GET (§14.2), and with If-Range only for the very same bytes (§13.1.5).
  if (method !== 'GET' || range === undefined) return WHOLE;
  return ifRange === undefined || ifRange.trim() === file.tag ? answerRange(range, file.bytes) : WHOLE;
}

/** `If-Match` (§13.1.1): strong comparison, so a weak tag matches nothing. */
function isSame(header: string, tag: string): boolean {
  return header.trim() === '*' || header.split(',').some((part) => part.trim() === tag);
}

function answerRange(header: string, bytes: number): FileAnswer {
  const [match, first, last = '', suffix] = SINGLE_RANGE.exec(header) ?? [];
  if (match === undefined) return WHOLE;
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (first === undefined) {
    const start = Math.max(0, bytes - Number(suffix));
    return start < bytes ? { status: 206, range: { start, end } } : { status: 416 };
  }
  if (last !== '' && Number(last) < Number(first)) return WHOLE;
  return Number(first) < bytes ? { status: 206, range: { start: Number(first), end } } : { status: 416 };
}
