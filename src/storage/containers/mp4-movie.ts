import { ascii, viewOf } from './parser.ts';

export interface Movie {
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
}

/** Reads what `moov` says: the largest track's picture size (`tkhd`) and the movie's duration (`mvhd`). */
export function readMovie(content: Uint8Array): Movie {
  let durationSeconds: number | null = null;
  let [width, height] = [0, 0];
  for (const [type, box] of boxesOf(content)) {
    if (type === 'mvhd') durationSeconds = readDuration(box);
    if (type !== 'trak') continue;
    for (const [inner, header] of boxesOf(box)) {
      if (inner !== 'tkhd' || header.length < 8) continue;
      // The last two fields, 16.16 fixed point.
      const view = viewOf(header);
      const size = [view.getUint16(header.length - 8), view.getUint16(header.length - 4)] as const;
      if (size[0] * size[1] > width * height) [width, height] = size;
    }
  }
  return { width: width || null, height: height || null, durationSeconds };
}

/** `mvhd`: version 0 has 32-bit times, version 1 has 64-bit ones; zero or all ones mean "not known". */
function readDuration(box: Uint8Array): number | null {
  const isLong = box[0] === 1;
  if (box.length < (isLong ? 32 : 20)) return null;
  const view = viewOf(box);
  const timescale = view.getUint32(isLong ? 20 : 12);
  const duration = isLong ? Number(view.getBigUint64(24)) : view.getUint32(16);
  const isUnknown = duration === 0 || duration === 0xffffffff || !Number.isSafeInteger(duration);
  return isUnknown || timescale === 0 ? null : duration / timescale;
}

/** The boxes within a box, as far as their sizes make sense. */
function* boxesOf(content: Uint8Array): Generator<readonly [type: string, content: Uint8Array]> {
  const view = viewOf(content);
  for (let at = 0; at + 8 <= content.length;) {
    const size = view.getUint32(at);
    if (size < 8 || at + size > content.length) return;
    yield [ascii(content, at + 4, at + 8), content.subarray(at + 8, at + size)];
    at += size;
  }
}
