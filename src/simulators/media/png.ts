import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const SIZE = 64;
/** Squares of one colour each, in both directions. */
const SQUARES = 4;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A whole PNG (64 by 64 pixels, 8-bit RGB): sixteen squares whose colours follow from `seed`. */
export function makePng(seed: string): Buffer {
  const colours = createHash('sha512').update(seed).digest();
  const rows = Buffer.alloc(SIZE * (SIZE * 3 + 1));
  const side = SIZE / SQUARES;
  for (let y = 0, at = 0; y < SIZE; y++) {
    rows[at++] = 0; // no filter
    for (let x = 0; x < SIZE; x++) {
      const square = Math.floor(y / side) * SQUARES + Math.floor(x / side);
      for (let plane = 0; plane < 3; plane++) rows[at++] = colours[square * 3 + plane]!;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
