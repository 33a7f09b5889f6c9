import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

/**
 * The plain bytes of a small answer that was compressed although we asked for none (some gateways do), or null when
 * the encoding is unknown, damaged, or grows beyond `maxBytes`.
 */
export function decodeBody(body: Buffer, encoding: string | undefined, maxBytes: number): Buffer | null {
  const limit = { maxOutputLength: maxBytes };
  try {
    switch (encoding?.trim().toLowerCase() ?? '') {
      case '':
      case 'identity':
        return body;
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(body, limit);
      case 'deflate':
        return inflateSync(body, limit);
      case 'br':
        return brotliDecompressSync(body, limit);
      default:
        return null;
    }
  } catch {
    return null;
  }
}
