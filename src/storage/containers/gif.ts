import {
  ascii,
  type Container,
  type ContainerParser,
  type Need,
  scan,
  skip,
  take,
  TRUNCATED,
  viewOf,
} from './parser.ts';

const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;
const GRAPHIC_CONTROL = 0xf9;

/** GIF (GIF89a specification): complete when its blocks lead to the trailer after an image; the rest is ignored. */
export const gif: Container = {
  matches: (head) => ['GIF87a', 'GIF89a'].includes(ascii(head, 0, 6)),
  parse: parseGif,
};

function* parseGif(): ContainerParser {
  const start = yield* take(13);
  if (start === null) return TRUNCATED;
  const view = viewOf(start);
  const [width, height] = [view.getUint16(6, true), view.getUint16(8, true)];
  if (!(yield* skip(colourTableBytes(view.getUint8(10))))) return TRUNCATED;
  let images = 0;
  let hundredths = 0;
  for (;;) {
    const block = yield* take(1);
    if (block === null) return TRUNCATED;
    if (block[0] === TRAILER) break;
    if (block[0] === IMAGE) {
      const image = yield* take(9);
      // The byte behind the colour table is the code size.
      if (image === null || !(yield* skip(colourTableBytes(image[8] ?? 0) + 1))) return TRUNCATED;
      images++;
    } else if (block[0] === EXTENSION) {
      const extension = yield* take(1);
      if (extension === null) return TRUNCATED;
      if (extension[0] === GRAPHIC_CONTROL) {
        const control = yield* take(5);
        if (control?.[0] !== 4) return TRUNCATED;
        hundredths += viewOf(control).getUint16(2, true);
      }
    } else return TRUNCATED;
    if (!(yield* skipSubBlocks())) return TRUNCATED;
  }
  if (images === 0) return TRUNCATED;
  const durationSeconds = images > 1 && hundredths > 0 ? hundredths / 100 : null;
  return { ok: true, mediaType: 'image/gif', width, height, durationSeconds };
}

function colourTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/** Blocks of up to 255 bytes, each after its length, until a length of 0. */
function* skipSubBlocks(): Generator<Need, boolean, Uint8Array | null> {
  let left = 0;
  return yield* scan((bytes) => {
    for (let at = 0; at < bytes.length;) {
      const passed = Math.min(left, bytes.length - at);
      at += passed;
      left -= passed;
      if (at === bytes.length) break;
      left = bytes[at++] ?? 0;
      if (left === 0) return at;
    }
    return null;
  });
}
