import { failed, rejected } from './open-source.ts';
import type { DownloadAnswer, DownloadRequest } from './types.ts';

const HEAD = /^data:([^,;]{0,127})(?:;[^,;]{1,127}){0,8};base64,/i;
const MAX_HEAD_CHARACTERS = 2_048;
/** A multiple of 4, so that every slice is whole groups of base64. */
const SLICE_CHARACTERS = 65_536;
const BASE64 = /^[A-Za-z0-9+/]*$/;

/** True for `data:<type>;base64,…`: a file that stands in the answer itself. Any other `data:` is not one. */
export function isInlineFile(url: string): boolean {
  return HEAD.test(url.slice(0, MAX_HEAD_CHARACTERS));
}

/**
 * Hands on the bytes of an inline file, slice by slice, within the same limits and with the same answers as a download.
 * Nothing is called, so hosts and headers play no part. Text that is not exact base64 is `rejected` as `invalid_url`.
 */
export async function readInlineFile(
  request: Pick<DownloadRequest, 'url' | 'limits' | 'signal' | 'write' | 'onProgress'>,
): Promise<DownloadAnswer> {
  const { url, limits, signal, write, onProgress } = request;
  signal.throwIfAborted();
  const [head, type] = HEAD.exec(url.slice(0, MAX_HEAD_CHARACTERS)) ?? [];
  if (head === undefined) return rejected('invalid_url');
  const padding = url.endsWith('==') ? 2 : url.endsWith('=') ? 1 : 0;
  const characters = url.length - head.length;
  const end = url.length - padding;
  if (characters % 4 !== 0) return rejected('invalid_url');
  if ((characters / 4) * 3 - padding > limits.maxBytes) return rejected('too_large');
  const endsAt = performance.now() + limits.totalMs;
  let bytes = 0;
  for (let at = head.length; at < end; at += SLICE_CHARACTERS) {
    const slice = url.slice(at, Math.min(at + SLICE_CHARACTERS, end));
    if (!BASE64.test(slice)) return rejected('invalid_url');
    if (performance.now() > endsAt) return failed('timeout');
    const chunk = Buffer.from(slice, 'base64');
    await write(chunk);
    signal.throwIfAborted();
    bytes += chunk.length;
    onProgress?.(bytes);
  }
  return { kind: 'complete', bytes, contentType: type === undefined || type === '' ? null : type };
}
