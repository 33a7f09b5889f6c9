import { deflateSync } from 'node:zlib';

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** An ISO box: size, type, content. */
export function box(type: string, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([uint32(body.length + 8), Buffer.from(type, 'latin1'), body]);
}

/** The same with a 64-bit size. */
export function largeBox(type: string, content: Uint8Array): Buffer {
  return Buffer.concat([
    uint32(1),
    Buffer.from(type, 'latin1'),
    uint32(0),
    uint32(content.length + 16),
    content,
  ]);
}

export function ftyp(brand: string): Buffer {
  return box('ftyp', Buffer.from(`${brand}\0\0\u0002\0isommp41`, 'latin1'));
}

/** `moov` of one picture track and one sound track; version 1 has 64-bit times. */
export function moov(width: number, height: number, seconds: number, version: 0 | 1 = 0): Buffer {
  const times = version === 0 ? Buffer.alloc(8) : Buffer.alloc(16);
  const duration = version === 0 ? uint32(seconds * 600) : Buffer.concat([uint32(0), uint32(seconds * 600)]);
  const mvhd = box('mvhd', Buffer.from([version, 0, 0, 0]), times, uint32(600), duration, Buffer.alloc(80));
  const tkhd = (x: number, y: number): Buffer =>
    box('tkhd', Buffer.alloc(76), uint32(x * 65_536), uint32(y * 65_536));
  return box('moov', mvhd, box('trak', tkhd(0, 0)), box('trak', tkhd(width, height), box('mdia')));
}

export function png(width: number, height: number): Buffer {
  const chunk = (type: string, content: Uint8Array): Buffer =>
    Buffer.concat([uint32(content.length), Buffer.from(type, 'latin1'), content, Buffer.alloc(4)]);
  return Buffer.concat([
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'),
    chunk('IHDR', Buffer.concat([uint32(width), uint32(height), Buffer.from([8, 0, 0, 0, 0])])),
    chunk('IDAT', deflateSync(Buffer.alloc(500))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Mono, 16 bit, 8000 samples a second; `riffSize` and `dataSize` replace the true sizes. */
export function wav(samples: number, sizes: { riff?: number; data?: number } = {}): Buffer {
  const file = Buffer.alloc(44 + samples * 2);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(sizes.riff ?? file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(8000, 24);
  file.writeUInt32LE(16_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(sizes.data ?? samples * 2, 40);
  return file;
}
