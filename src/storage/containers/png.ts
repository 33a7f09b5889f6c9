import { ascii, type Container, type ContainerParser, skip, take, TRUNCATED, viewOf } from './parser.ts';

const SIGNATURE = '\u0089PNG\r\n\u001a\n';

/** PNG (W3C PNG, third edition, §5): complete when the chunk IEND is reached after image data. */
export const png: Container = {
  matches: (head) => ascii(head, 0, 8) === SIGNATURE,
  parse: parsePng,
};

function* parsePng(): ContainerParser {
  // Signature, then the first chunk's length, type (always IHDR), width and height.
  const start = yield* take(24);
  if (start === null || ascii(start, 12, 16) !== 'IHDR') return TRUNCATED;
  const view = viewOf(start);
  if (view.getUint32(8) !== 13) return TRUNCATED;
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  if (!(yield* skip(13 - 8 + 4))) return TRUNCATED;
  let hasImage = false;
  for (;;) {
    const header = yield* take(8);
    if (header === null) return TRUNCATED;
    const type = ascii(header, 4, 8);
    if (!(yield* skip(viewOf(header).getUint32(0) + 4))) return TRUNCATED;
    hasImage ||= type === 'IDAT';
    if (type === 'IEND') {
      return hasImage
        ? { ok: true, mediaType: 'image/png', width, height, durationSeconds: null }
        : TRUNCATED;
    }
  }
}
