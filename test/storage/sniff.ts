import { createMediaCheck, type MediaVerdict } from '../../src/storage/index.ts';

/** Feeds the file in pieces of this size, from one buffer that is used again, as a socket might. */
export function check(file: Uint8Array, pieceBytes = 64): MediaVerdict {
  const media = createMediaCheck();
  const buffer = Buffer.alloc(pieceBytes);
  for (let at = 0; at < file.length; at += pieceBytes) {
    const piece = file.subarray(at, at + pieceBytes);
    buffer.set(piece);
    media.write(buffer.subarray(0, piece.length));
    buffer.fill(0xee);
  }
  return media.finish(file.length);
}
