import { describe, expect, it } from 'vitest';
import { glb as container } from '../../src/storage/containers/glb.ts';
import { startWalk } from '../../src/storage/containers/walk.ts';
import { realFile } from './containers-files.ts';
import { glb, riff, riffChunk, segment } from './media.ts';
import { check } from './sniff.ts';

const TRUNCATED = { ok: false, reason: 'truncated' };
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('JPEG', () => {
  const SOI = hex('ffd8');
  const EOI = hex('ffd9');
  const SOF = segment(0xc0, hex('08 0300 0400 01 01 11 00'));
  const SOS = Buffer.concat([segment(0xda, hex('01 01 00 00 3f 00')), hex('12 ff00 34 ffd0 56')]);
  const PICTURE = { ok: true, mediaType: 'image/jpeg', width: 1024, height: 768, durationSeconds: null };

  it('a thumbnail in its EXIF data is not the picture, and its end is not the end', () => {
    const exif = segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), realFile('JPEG')]));
    const file = Buffer.concat([SOI, exif, SOF, SOS, EOI]);
    expect(check(file)).toEqual(PICTURE);
    expect(check(Buffer.concat([SOI, exif]))).toEqual(TRUNCATED);
    expect(check(file.subarray(0, -2))).toEqual(TRUNCATED);
  });

  it('what follows its end is ignored, as in a motion photo', () => {
    expect(check(Buffer.concat([SOI, SOF, SOS, EOI, realFile('JPEG'), Buffer.from('trailer')]))).toEqual(
      PICTURE,
    );
  });

  it.each([
    ['fill bytes before a marker', [SOI, hex('ffffff'), SOF.subarray(1), SOS, hex('ffff'), EOI]],
    ['several scans with tables between', [SOI, SOF, SOS, segment(0xc4, hex('00 00')), SOS, EOI]],
    [
      'tables and comments',
      [SOI, segment(0xdb, Buffer.alloc(65)), segment(0xfe, Buffer.alloc(0)), SOF, SOS, EOI],
    ],
    ['a progressive frame', [SOI, segment(0xc2, SOF.subarray(4)), SOS, EOI]],
  ])('with %s is whole', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(PICTURE);
  });

  it('whose height comes later has no known size', () => {
    const open = segment(0xc0, hex('08 0000 0400 01 01 11 00'));
    expect(check(Buffer.concat([SOI, open, SOS, segment(0xdc, hex('0300')), EOI]))).toEqual({
      ...PICTURE,
      width: null,
      height: null,
    });
  });

  it.each([
    ['no frame', [SOI, SOS, EOI]],
    ['no scan', [SOI, SOF, EOI]],
    ['a table in place of a frame', [SOI, segment(0xc4, SOF.subarray(4)), SOS, EOI]],
    ['a second beginning before the end', [SOI, SOF, SOS, hex('ffd8 0002'), EOI]],
    ['a segment shorter than its length', [SOI, hex('ffe0 0001'), SOF, SOS, EOI]],
    ['a frame too short to hold a size', [SOI, segment(0xc0, hex('08 03')), SOS, EOI]],
  ])('with %s is damaged', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(TRUNCATED);
  });
});

describe('GIF', () => {
  const HEAD = Buffer.concat([Buffer.from('GIF89a'), hex('2003 5802 00 00 00')]);
  const IMAGE = hex('2c 0000 0000 0a00 0a00 00 02 02 4c01 00');
  const DELAY = hex('21 f9 04 00 2a00 00 00');
  const COMMENT = hex('21 fe 03 3b3b3b 02 3b2c 00');
  const END = hex('3b');
  const PICTURE = { ok: true, mediaType: 'image/gif', width: 800, height: 600, durationSeconds: null };

  it('is walked block by block to its end, the rest is ignored', () => {
    expect(check(Buffer.concat([HEAD, COMMENT, IMAGE, END]))).toEqual(PICTURE);
    expect(check(Buffer.concat([HEAD, IMAGE, END, Buffer.from('trailer')]))).toEqual(PICTURE);
    expect(check(Buffer.concat([HEAD, COMMENT, IMAGE]))).toEqual(TRUNCATED);
  });

  it('an animation lasts as long as its delays, a picture has no duration', () => {
    expect(check(Buffer.concat([HEAD, DELAY, IMAGE, DELAY, IMAGE, END]))).toEqual({
      ...PICTURE,
      durationSeconds: 0.84,
    });
    expect(check(Buffer.concat([HEAD, DELAY, IMAGE, END]))).toEqual(PICTURE);
  });

  it('colour tables are passed over by their flags', () => {
    const global = Buffer.concat([Buffer.from('GIF87a'), hex('2003 5802 81 00 00'), Buffer.alloc(12, 0x3b)]);
    const local = hex(`2c 0000 0000 0a00 0a00 80 ${'3b'.repeat(6)} 02 02 4c01 00`);
    expect(check(Buffer.concat([global, local, END]))).toEqual(PICTURE);
  });

  it.each([
    ['no image', [HEAD, COMMENT, END]],
    ['an unknown block', [HEAD, IMAGE, hex('00'), END]],
    ['a delay of another form', [HEAD, hex('21 f9 05 00 2a00 00 00 00'), IMAGE, END]],
  ])('with %s is damaged', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(TRUNCATED);
  });
});

describe('WebP', () => {
  const CANVAS = riffChunk('VP8X', hex('10000000 ff0300 ff0200'));
  const LOSSY = riffChunk('VP8 ', hex('300000 9d012a 0044 0083 000000'));
  const LOSSLESS = riffChunk('VP8L', hex('2f ff c3 bf 00 00'));
  const PICTURE = { ok: true, mediaType: 'image/webp', width: 1024, height: 768, durationSeconds: null };

  it.each([
    ['lossy with scaling bits', riff('WEBP', LOSSY), PICTURE],
    ['lossless', riff('WEBP', LOSSLESS), { ...PICTURE, width: 1024, height: 768 }],
    ['with the canvas deciding', riff('WEBP', CANVAS, riffChunk('VP8L', hex('2f 00 00 00 00'))), PICTURE],
    ['with odd and unknown chunks', riff('WEBP', CANVAS, riffChunk('XYZ ', hex('01')), LOSSY), PICTURE],
    ['without its last pad byte', riff('WEBP', LOSSY.subarray(0, -1)), PICTURE],
    ['with bytes behind it', Buffer.concat([riff('WEBP', LOSSY), Buffer.from('trailer')]), PICTURE],
  ])('%s is whole', (_name, file, expected) => {
    expect(check(file)).toEqual(expected);
  });

  it.each([
    ['a chunk beyond its size', riff('WEBP', LOSSY.subarray(0, -4))],
    ['a canvas and no picture', riff('WEBP', CANVAS)],
    ['no chunk', Buffer.concat([riff('WEBP'), Buffer.alloc(8)])],
    ['a picture too short for its size', riff('WEBP', riffChunk('VP8 ', hex('300000')))],
    ['a size beyond the file', Buffer.concat([hex('52494646 ffffffff'), riff('WEBP', LOSSY).subarray(8)])],
  ])('with %s is damaged', (_name, file) => {
    expect(check(file)).toEqual(TRUNCATED);
  });
});

describe('GLB', () => {
  const MODEL = {
    ok: true,
    mediaType: 'model/gltf-binary',
    width: null,
    height: null,
    durationSeconds: null,
  };

  it('is whole when its chunks fill the length of its header, which is the length of the file', () => {
    const file = glb();
    for (const pieceBytes of [1, 7, 1000]) expect(check(file, pieceBytes)).toEqual(MODEL);
    for (let length = 16; length < file.length; length++) {
      expect(check(file.subarray(0, length))).toEqual(TRUNCATED);
    }
  });

  it.each([
    ['a byte more than its length', Buffer.concat([glb(), hex('00')])],
    ['a length beyond the file', glb({ length: 1_000_000 })],
    ['a length within a chunk', glb({ length: 60 })],
    ['a length of nothing', glb({ length: 0 })],
    ['binary data first', glb({ first: 'BIN\0' })],
  ])('with %s is damaged', (_name, file) => {
    expect(check(file)).toEqual(TRUNCATED);
  });

  it('DL-5: of another version is of no known type', () => {
    expect(check(glb({ version: 1 }))).toEqual({ ok: false, reason: 'unknown_type' });
  });

  it('made of more parts than any real file has is given up, so that it costs seconds at most', () => {
    // Each eight zeros are an empty chunk.
    const file = Buffer.concat([glb(), Buffer.alloc(8 * 1000)]);
    file.writeUInt32LE(file.length, 8);
    const verdictOf = (maxSteps?: number) => {
      const walk = startWalk(container.parse(), maxSteps);
      walk.write(file);
      return walk.finish();
    };
    expect([verdictOf(), verdictOf(1010), verdictOf(1000)]).toEqual([MODEL, MODEL, TRUNCATED]);
  });
});
