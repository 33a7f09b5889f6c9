import {
  type Container,
  type ContainerParser,
  type Need,
  scan,
  skip,
  take,
  TRUNCATED,
  viewOf,
} from './parser.ts';

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
/** DHT, JPG and DAC lie between the frame headers (ITU-T T.81, table B.1). */
const NO_FRAMES = new Set([0xc4, 0xc8, 0xcc]);

/**
 * JPEG (ITU-T T.81, annex B): complete when EOI is reached after a frame and a scan. Thumbnails lie inside segments,
 * which are passed over by their length. What follows EOI (further pictures of an MPF file, a motion photo) is ignored.
 */
export const jpeg: Container = {
  matches: (head) => head[0] === 0xff && head[1] === SOI && head[2] === 0xff,
  parse: parseJpeg,
};

function* parseJpeg(): ContainerParser {
  if (!(yield* skip(2))) return TRUNCATED;
  let size: readonly [width: number, height: number] | null = null;
  let hasScan = false;
  for (;;) {
    const marker = yield* nextMarker();
    if (marker === null || marker === SOI) return TRUNCATED;
    if (marker === EOI) break;
    const length = yield* take(2);
    if (length === null) return TRUNCATED;
    const content = viewOf(length).getUint16(0) - 2;
    if (content < 0) return TRUNCATED;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && !NO_FRAMES.has(marker);
    if (isFrame && content >= 6) {
      const frame = yield* take(content);
      if (frame === null) return TRUNCATED;
      // A height of 0 comes later, in a DNL segment; then it is not known.
      size = [viewOf(frame).getUint16(3), viewOf(frame).getUint16(1)];
    } else if (!(yield* skip(content))) return TRUNCATED;
    hasScan ||= marker === SOS;
  }
  if (size === null || !hasScan) return TRUNCATED;
  return { ok: true, mediaType: 'image/jpeg', width: size[0], height: size[1], durationSeconds: null };
}

/** Passes over coded data, where 0xff is stuffed with 0 or begins a restart marker, up to the next other marker. */
function* nextMarker(): Generator<Need, number | null, Uint8Array | null> {
  let marker = 0;
  let afterFf = false;
  const found = yield* scan((bytes) => {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (afterFf && byte !== 0xff && !isData(byte)) {
        marker = byte;
        return at + 1;
      }
      afterFf = byte === 0xff;
    }
    return null;
  });
  return found ? marker : null;
}

/** Stuffing, TEM or RSTn: nothing of these has a length. */
function isData(byte: number): boolean {
  return byte <= 1 || (byte >= 0xd0 && byte <= 0xd7);
}
