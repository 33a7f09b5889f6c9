import { ascii, viewOf } from './parser.ts';

/** One frame of MPEG audio, layer III. */
export interface Mp3Frame {
  /** With its header. */
  readonly bytes: number;
  readonly seconds: number;
  /** Where an encoder writes Xing or Info, from the start of the frame. */
  readonly infoAt: number;
}

const KBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
const KBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
const RATES = [44_100, 48_000, 32_000, 0];
/** By version bits: 2.5, reserved, 2, 1. */
const RATE_DIVISORS = [4, 0, 2, 1];
const VBRI_AT = 36;

/**
 * Reads the four bytes of a frame header (ISO/IEC 11172-3 §2.4.1.3, 13818-3), or null if they are none. Free format,
 * whose frames do not tell their length, is not read.
 */
export function readFrame(header: Uint8Array): Mp3Frame | null {
  const [sync = 0, kind = 0, coding = 0, mode = 0] = header;
  const version = (kind >> 3) & 3;
  const isLayer3 = (kind & 6) === 2;
  const isReserved = (mode & 3) === 2;
  if (sync !== 0xff || (kind & 0xe0) !== 0xe0 || !isLayer3 || isReserved) return null;
  const isFirst = version === 3;
  const bitsPerSecond = ((isFirst ? KBITS_1 : KBITS_2)[coding >> 4] ?? 0) * 1000;
  const rate = (RATES[(coding >> 2) & 3] ?? 0) / (RATE_DIVISORS[version] ?? 0);
  if (bitsPerSecond === 0 || rate === 0 || !Number.isFinite(rate)) return null;
  const samples = isFirst ? 1152 : 576;
  const padding = (coding >> 1) & 1;
  const isMono = mode >> 6 === 3;
  const sideInfo = isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  return {
    bytes: Math.floor(((samples / 8) * bitsPerSecond) / rate) + padding,
    seconds: samples / rate,
    infoAt: 4 + sideInfo,
  };
}

/** How much an encoder says to follow; null where it says nothing. */
export interface Mp3Promise {
  /** Without the frame that says so. */
  readonly frames: number | null;
  /** With it. */
  readonly bytes: number | null;
}

/** Reads the Xing, Info or VBRI header in a whole frame, or null if it has none, so that the frame is sound. */
export function readPromise(frame: Uint8Array, infoAt: number): Mp3Promise | null {
  const view = viewOf(frame);
  const uint32At = (at: number): number | null => (at + 4 <= frame.length ? view.getUint32(at) : null);
  if (ascii(frame, VBRI_AT, VBRI_AT + 4) === 'VBRI')
    return { frames: uint32At(VBRI_AT + 14), bytes: uint32At(VBRI_AT + 10) };
  if (!['Xing', 'Info'].includes(ascii(frame, infoAt, infoAt + 4))) return null;
  const flags = uint32At(infoAt + 4) ?? 0;
  const hasFrames = (flags & 1) !== 0;
  return {
    frames: hasFrames ? uint32At(infoAt + 8) : null,
    bytes: (flags & 2) === 0 ? null : uint32At(infoAt + (hasFrames ? 12 : 8)),
  };
}
