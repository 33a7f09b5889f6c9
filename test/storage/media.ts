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

/** Binary glTF: JSON and, if not empty, binary data; `length` replaces the true one in the header. */
export function glb(options: { version?: number; length?: number; first?: string } = {}): Buffer {
  const chunk = (type: string, content: Uint8Array): Buffer =>
    Buffer.concat([uint32(content.length).reverse(), Buffer.from(type, 'latin1'), content]);
  const chunks = Buffer.concat([
    chunk(options.first ?? 'JSON', Buffer.from('{"asset":{"version":"2.0"}} ')),
    chunk('BIN\0', Buffer.alloc(64, 7)),
  ]);
  const header = Buffer.from('glTF', 'latin1');
  const length = options.length ?? chunks.length + 12;
  return Buffer.concat([header, uint32(options.version ?? 2).reverse(), uint32(length).reverse(), chunks]);
}

/** A marker and its content behind their length, as in JPEG. */
export function segment(marker: number, content: Uint8Array): Buffer {
  const length = content.length + 2;
  return Buffer.concat([Buffer.from([0xff, marker, length >> 8, length & 0xff]), content]);
}

/** An EBML element: id in hex; `open` leaves its size unknown. */
export function element(id: string, content: Uint8Array | string, open = false): Buffer {
  const body = Buffer.from(content);
  const size = open ? Buffer.from('01ffffffffffffff', 'hex') : Buffer.alloc(8);
  if (!open) {
    size.writeUInt32BE(body.length, 4);
    size[0] = 1;
  }
  return Buffer.concat([Buffer.from(id, 'hex'), size, body]);
}

export function riff(type: string, ...chunks: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), ...chunks]);
  return Buffer.concat([Buffer.from('RIFF', 'latin1'), uint32(content.length).reverse(), content]);
}

/** A RIFF chunk, padded to an even length. */
export function riffChunk(type: string, content: Uint8Array): Buffer {
  const size = uint32(content.length).reverse();
  return Buffer.concat([Buffer.from(type, 'latin1'), size, content, Buffer.alloc(content.length % 2)]);
}
