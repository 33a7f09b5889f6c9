import { HEIGHT, idrPicture, pictureParameterSet, sequenceParameterSet, WIDTH } from './h264.ts';

const TICKS_PER_SECOND = 1_000;
const FRAMES_PER_SECOND = 2;
const FRAME_TICKS = TICKS_PER_SECOND / FRAMES_PER_SECOND;
const MAX_SECONDS = 60;

/** 16.16 fixed-point identity matrix of ISO/IEC 14496-12 §8.2.2. */
const MATRIX = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000];

function u16(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => buffer.writeUInt16BE(value, i * 2));
  return buffer;
}

function u32(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => buffer.writeUInt32BE(value, i * 4));
  return buffer;
}

function box(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const payload = Buffer.concat(parts);
  return Buffer.concat([u32(payload.length + 8), Buffer.from(type, 'latin1'), payload]);
}

/** A box with version 0 and flags. */
function fullBox(type: string, flags: number, ...parts: readonly Uint8Array[]): Buffer {
  return box(type, u32(flags), ...parts);
}

function sampleEntry(): Buffer {
  const sps = sequenceParameterSet();
  const pps = pictureParameterSet();
  const decoderConfiguration = box(
    'avcC',
    Buffer.from([1, sps[1]!, sps[2]!, sps[3]!, 0xff, 0xe1]),
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  );
  return box(
    'avc1',
    Buffer.alloc(6),
    u16(1),
    Buffer.alloc(16),
    u16(WIDTH, HEIGHT),
    u32(0x480000, 0x480000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    decoderConfiguration,
  );
}

/** Sample tables for equal frames in one chunk that starts at `offset` of the file. */
function sampleTable(sizes: readonly number[], offset: number): Buffer {
  return box(
    'stbl',
    fullBox('stsd', 0, u32(1), sampleEntry()),
    fullBox('stts', 0, u32(1, sizes.length, FRAME_TICKS)),
    fullBox('stsc', 0, u32(1, 1, sizes.length, 1)),
    fullBox('stsz', 0, u32(0, sizes.length, ...sizes)),
    fullBox('stco', 0, u32(1, offset)),
  );
}

function movie(sizes: readonly number[], offset: number): Buffer {
  const duration = sizes.length * FRAME_TICKS;
  const media = box(
    'mdia',
    fullBox('mdhd', 0, u32(0, 0, TICKS_PER_SECOND, duration), u16(0x55c4, 0)),
    fullBox('hdlr', 0, u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('video\0')),
    box(
      'minf',
      fullBox('vmhd', 1, Buffer.alloc(8)),
      box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))),
      sampleTable(sizes, offset),
    ),
  );
  const trackHeader = fullBox(
    'tkhd',
    3,
    u32(0, 0, 1, 0, duration, 0, 0, 0, 0),
    u32(...MATRIX),
    u32(WIDTH * 0x10000, HEIGHT * 0x10000),
  );
  const movieHeader = fullBox(
    'mvhd',
    0,
    u32(0, 0, TICKS_PER_SECOND, duration, 0x10000, 0x1000000, 0, 0),
    u32(...MATRIX),
    Buffer.alloc(24),
    u32(2),
  );
  return box('moov', movieHeader, box('trak', trackHeader, media));
}

/**
 * A whole MP4 file (H.264 Baseline, 64 by 48, 2 frames a second) of `seconds` length. Equal arguments give equal
 * bytes; another seed gives other colours. About 9 kB a second, made in code, so it belongs to this project.
 */
export function makeMp4(seed: string, seconds: number): Buffer {
  const frameCount = Math.min(MAX_SECONDS, Math.max(1, Math.round(seconds))) * FRAMES_PER_SECOND;
  const samples = Array.from({ length: frameCount }, (_, frame) => {
    const nal = idrPicture(seed, frame);
    return Buffer.concat([u32(nal.length), nal]);
  });
  const sizes = samples.map((sample) => sample.length);
  const fileType = box('ftyp', Buffer.from('isom'), u32(0x200), Buffer.from('isomiso2avc1mp41'));
  const offset = fileType.length + movie(sizes, 0).length + 8;
  return Buffer.concat([fileType, movie(sizes, offset), box('mdat', ...samples)]);
}
