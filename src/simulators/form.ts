import busboy from 'busboy';
import type { Exchange } from './http.ts';

/** A part with a file name. */
export interface FormFile {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** What servers take of one text: Starlette's and busboy's default, a `data:` URI of 780 kB. */
const FIELD_BYTES = 1024 * 1024;

/** Everything is there already, so that the parser never waits for its reader. */
const AT_ONCE = 64 * 1024 * 1024;

/** The end of every whole form; a parser tells a missing one too late. */
function isWhole({ body, headers }: Exchange): boolean {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(headers['content-type'] ?? '') ?? [];
  const end = `--${quoted ?? plain ?? ''}--`;
  return (
    body
      .subarray(-end.length - 2)
      .toString('latin1')
      .trimEnd()
      .endsWith(end) && end.length > 4
  );
}

/** The parts of a `multipart/form-data` body by name, the last of equal ones; undefined when it is none. */
export function formBody(
  exchange: Exchange,
): Readonly<Record<string, string | FormFile>> | 'field_too_large' | undefined {
  if (!/^multipart\/form-data\b/i.test(exchange.headers['content-type'] ?? '') || !isWhole(exchange))
    return undefined;
  const parts = new Map<string, string | FormFile>();
  let isTooLarge = false;
  try {
    const parser = busboy({
      headers: exchange.headers,
      highWaterMark: AT_ONCE,
      fileHwm: AT_ONCE,
      defParamCharset: 'utf8',
      limits: { fieldSize: FIELD_BYTES },
    });
    const files: (() => void)[] = [];
    parser.on('field', (name, value, { valueTruncated }) => {
      isTooLarge ||= valueTruncated;
      parts.set(name, value);
    });
    parser.on('file', (name, stream, { mimeType: mediaType }) => {
      files.push(() => {
        const read = stream.read() as Buffer | null;
        parts.set(name, { mediaType, bytes: read ?? Buffer.alloc(0) });
      });
    });
    parser.on('error', () => {});
    parser.end(exchange.body);
    for (const take of files) take();
  } catch {
    return undefined;
  }
  return isTooLarge ? 'field_too_large' : Object.fromEntries(parts);
}
