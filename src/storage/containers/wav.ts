import { ascii, type Container, type ContainerParser, skip, take, TRUNCATED, viewOf } from './parser.ts';

/** Written by encoders that stream and cannot come back to fill the size in. */
const OPEN_SIZES = new Set([0, 0xffffffff]);

/** RIFF/WAVE: complete when the RIFF size is reached; a file with an open size ends wherever it ends. */
export const wav: Container = {
  matches: (head) => ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WAVE',
  parse: parseWav,
};

function* parseWav(): ContainerParser {
  const start = yield* take(12);
  if (start === null) return TRUNCATED;
  const riffSize = viewOf(start).getUint32(4, true);
  const end = OPEN_SIZES.has(riffSize) ? Infinity : riffSize + 8;
  let at = 12;
  let bytesPerSecond = 0;
  for (;;) {
    const header = yield* take(8);
    if (header === null) return TRUNCATED;
    const size = viewOf(header).getUint32(4, true);
    at += 8;
    const type = ascii(header, 0, 4);
    if (type === 'data') {
      const isOpen = OPEN_SIZES.has(size) && end === Infinity;
      // What follows the samples up to the RIFF size has to be there too; a missing pad byte is common.
      if (!isOpen && !(yield* skip(Math.max(size, end === Infinity ? 0 : end - at)))) return TRUNCATED;
      const durationSeconds = isOpen || bytesPerSecond === 0 ? null : size / bytesPerSecond;
      return { ok: true, mediaType: 'audio/wav', width: null, height: null, durationSeconds };
    }
    if (type === 'fmt ' && size >= 16 && size <= 4096) {
      const format = yield* take(size);
      if (format === null) return TRUNCATED;
      bytesPerSecond = viewOf(format).getUint32(8, true);
      if (!(yield* skip(size % 2))) return TRUNCATED;
    } else if (!(yield* skip(size + (size % 2)))) return TRUNCATED;
    at += size + (size % 2);
  }
}
