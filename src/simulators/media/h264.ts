import { createHash } from 'node:crypto';
import { BitWriter } from './bits.ts';

/** A picture of 4 by 3 macroblocks of 16 by 16 pixels: the smallest that players show without complaint. */
const MACROBLOCKS_WIDE = 4;
const MACROBLOCKS_HIGH = 3;
export const WIDTH = MACROBLOCKS_WIDE * 16;
export const HEIGHT = MACROBLOCKS_HIGH * 16;

const NAL_SPS = 0x67;
const NAL_PPS = 0x68;
const NAL_IDR = 0x65;
const I_PCM = 25;

/** Baseline profile, level 3.0, one reference picture, 64 by 48 (ITU-T H.264 §7.3.2.1). */
export function sequenceParameterSet(): Buffer {
  const bits = new BitWriter();
  for (const byte of [66, 0xc0, 30]) bits.fixed(byte, 8);
  bits.unsigned(0); // id
  bits.unsigned(0); // frame_num has 4 bits
  bits.unsigned(2); // picture order follows decoding order
  bits.unsigned(1);
  bits.fixed(0, 1);
  bits.unsigned(MACROBLOCKS_WIDE - 1);
  bits.unsigned(MACROBLOCKS_HIGH - 1);
  bits.fixed(0b1100, 4); // frames only, direct 8x8, no cropping, no VUI
  return nalUnit(NAL_SPS, bits.finish());
}

/** CAVLC, one slice group, deblocking under the slice's control (§7.3.2.2). */
export function pictureParameterSet(): Buffer {
  const bits = new BitWriter();
  bits.unsigned(0); // id
  bits.unsigned(0); // sequence parameter set
  bits.fixed(0, 2);
  bits.unsigned(0); // slice groups - 1
  bits.unsigned(0);
  bits.unsigned(0);
  bits.fixed(0, 3); // no weighted prediction
  bits.unsigned(0); // QP and offsets: signed zero is coded like zero
  bits.unsigned(0);
  bits.unsigned(0);
  bits.fixed(0b100, 3); // deblocking control present
  return nalUnit(NAL_PPS, bits.finish());
}

/** One IDR picture of raw (I_PCM) macroblocks; the colours of each follow from `seed` and the frame number. */
export function idrPicture(seed: string, frame: number): Buffer {
  const colours = createHash('sha512').update(`${seed}:${frame}`).digest();
  const bits = new BitWriter();
  bits.unsigned(0); // first macroblock
  bits.unsigned(7); // I slice, as all of this picture
  bits.unsigned(0);
  bits.fixed(0, 4); // frame_num
  bits.unsigned(frame % 2); // neighbouring IDR pictures must differ
  bits.fixed(0, 2); // reference marking
  bits.unsigned(0); // slice QP delta
  bits.unsigned(1); // no deblocking
  for (let block = 0; block < MACROBLOCKS_WIDE * MACROBLOCKS_HIGH; block++) {
    bits.unsigned(I_PCM);
    bits.align();
    const [luma, blue, red] = [0, 1, 2].map((plane) => 32 + (colours[block * 3 + plane]! % 192));
    bits.bytes(Buffer.alloc(256, luma));
    bits.bytes(Buffer.alloc(64, blue));
    bits.bytes(Buffer.alloc(64, red));
  }
  return nalUnit(NAL_IDR, bits.finish());
}

/** Header byte, then the payload with emulation prevention: no 00 00 0x may stand in it, x < 4 (§7.4.1). */
export function nalUnit(header: number, payload: Uint8Array): Buffer {
  const bytes: number[] = [header];
  let zeros = 0;
  for (const byte of payload) {
    if (zeros >= 2 && byte < 4) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}
