import { readFrame, readPromise } from './mp3-frame.ts';
import {
  ascii,
  type Container,
  type ContainerParser,
  type Need,
  skip,
  take,
  TRUNCATED,
  UNKNOWN,
  viewOf,
} from './parser.ts';

/**
 * MP3, walked frame by frame: the duration is that of the frames. Complete when all frames and bytes are there that
 * its Xing, Info or VBRI headers promise; without one, when whole frames and known tags fill the file. A cut right
 * between two frames shows only against a promise.
 */
export const mp3: Container = {
  matches: (head) => ascii(head, 0, 3) === 'ID3' || readFrame(head) !== null,
  parse: parseMp3,
};

function* parseMp3(): ContainerParser {
  let [tagBytes, frameBytes, seconds, frames, promises] = [0, 0, 0, 0, 0];
  const promised = { frames: 0, bytes: 0 };
  /** Of a file without a promise nothing is missing. Bytes are those of the file in some files, of the frames in most. */
  const isKept = (): boolean => {
    if (frames >= promised.frames) return tagBytes + frameBytes >= promised.bytes;
    // Some encoders count the frame of the promise as well: then every byte of the frames has to be there.
    const isOff = frames + promises >= promised.frames;
    return isOff && promised.bytes > 0 && frameBytes >= promised.bytes;
  };
  for (;;) {
    const header = yield* take(4);
    if (header === null) break;
    const frame = readFrame(header);
    if (frame === null) {
      const tag = yield* skipTag(header);
      if (tag === 'cut') return TRUNCATED;
      if (tag === null) {
        // One frame that nothing follows is as likely four bytes that look like one.
        if (frames + promises < 2) return UNKNOWN;
        if (promised.frames === 0 || !isKept()) return TRUNCATED;
        break;
      }
      tagBytes += tag;
      continue;
    }
    const rest = yield* take(frame.bytes - header.length);
    if (rest === null) return TRUNCATED;
    frameBytes += frame.bytes;
    const promise = readPromise(Buffer.concat([header, rest]), frame.infoAt);
    if (promise === null) {
      frames++;
      seconds += frame.seconds;
    } else {
      promises++;
      promised.frames += promise.frames ?? 0;
      promised.bytes += promise.bytes ?? 0;
    }
  }
  if (frames === 0 || frames + promises < 2 || !isKept()) return TRUNCATED;
  return { ok: true, mediaType: 'audio/mpeg', width: null, height: null, durationSeconds: seconds };
}

/**
 * Passes over an ID3v2 (at the start, or where files were joined), APE or ID3v1 tag that begins with these four bytes.
 * Returns its length, `cut` where the file ends within it, or null if it is none.
 */
function* skipTag(first: Uint8Array): Generator<Need, number | 'cut' | null, Uint8Array | null> {
  const name = ascii(first, 0, 4);
  let rest: number;
  let read = 0;
  if (name.startsWith('TAG')) rest = 128 - 4;
  else if (name === 'APET') {
    read = 32 - 4;
    const header = yield* take(read);
    if (header === null) return 'cut';
    // The size is that of the items and the footer; only a header (bit 29) stands before them.
    const isHeader = (viewOf(header).getUint32(16, true) & 0x2000_0000) !== 0;
    rest = isHeader ? viewOf(header).getUint32(8, true) : 0;
  } else if (name.startsWith('ID3')) {
    read = 10 - 4;
    const header = yield* take(read);
    if (header === null) return 'cut';
    const [, flags = 0, ...size] = header;
    const hasFooter = (flags & 0x10) !== 0;
    rest = size.reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0) + (hasFooter ? 10 : 0);
  } else return null;
  return (yield* skip(rest)) ? 4 + read + rest : 'cut';
}
