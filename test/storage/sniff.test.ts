import { describe, expect, it } from 'vitest';
import { createMediaCheck } from '../../src/storage/index.ts';
import { box, ftyp, largeBox, moov, png, wav } from './media.ts';
import { check } from './sniff.ts';

const MDAT = box('mdat', Buffer.alloc(300, 0x55));
const MOOV = moov(1920, 1080, 5);
const VIDEO = { ok: true, mediaType: 'video/mp4', width: 1920, height: 1080, durationSeconds: 5 };
const PICTURE = { ok: true, mediaType: 'image/png', width: 640, height: 480, durationSeconds: null };
const SOUND = { ok: true, mediaType: 'audio/wav', width: null, height: null, durationSeconds: 0.25 };
const TRUNCATED = { ok: false, reason: 'truncated' };

const FILES = [
  ['MP4, index first', Buffer.concat([ftyp('isom'), MOOV, MDAT]), VIDEO],
  ['MP4, index last', Buffer.concat([ftyp('mp42'), box('free'), MDAT, MOOV]), VIDEO],
  [
    'MP4, 64-bit sizes and times',
    Buffer.concat([ftyp('avc1'), largeBox('mdat', MDAT), moov(1920, 1080, 5, 1)]),
    VIDEO,
  ],
  ['QuickTime', Buffer.concat([ftyp('qt  '), MDAT, MOOV]), { ...VIDEO, mediaType: 'video/quicktime' }],
  [
    'M4A',
    Buffer.concat([ftyp('M4A '), moov(0, 0, 5), MDAT]),
    { ...VIDEO, mediaType: 'audio/mp4', width: null, height: null },
  ],
  ['PNG', png(640, 480), PICTURE],
  ['WAV', wav(2000), SOUND],
] as const;

describe.each(FILES)('media check: %s', (_name, file, expected) => {
  it.each([1, 2, 7, 16, 64, 100_000])('is recognised in pieces of %i bytes', (pieceBytes) => {
    expect(check(file, pieceBytes)).toEqual(expected);
  });

  it('DL-1: is truncated wherever it is cut', () => {
    const verdicts = Array.from({ length: file.length - 17 }, (_, i) =>
      check(file.subarray(0, i + 16), 1024),
    );
    for (const verdict of verdicts) expect(verdict).toEqual(TRUNCATED);
  });
});

describe('media check', () => {
  it('DL-2: nothing is empty', () => {
    expect(check(Buffer.alloc(0))).toEqual({ ok: false, reason: 'empty' });
  });

  it.each([
    ['HTML', '<!doctype html><html><body>expired</body></html>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['XML error', '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ['JSON error', '{"error":"expired"}'],
    ['PDF', '%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n1 0 obj\n'],
    ['Matroska', '\u001aE\u00df\u00a3\u008bB\u0082\u0088matroska\u0018S\u0080g'],
    ['glTF 1', 'glTF\u0001\0\0\0\u0014\0\0\0\0\0\0\0\0\0\0\0'],
    ['ID3 before FLAC', 'ID3\u0004\0\0\0\0\0\0fLaC\0\0\0\u0022'],
    ['AAC', '\u00ff\u00f1P\u0080\u0004\u001f\u00fc\0\0\0\0\0\0\0\0\0\0'],
    ['UTF-16', '\u00ff\u00fe<\0h\0t\0m\0l\0>\0\0\0'],
    ['ELF', '\u007fELF\u0002\u0001\u0001\0\0\0\0\0\0\0\0\0\u0003\0>\0'],
    ['AVIF', '\0\0\0\u001cftypavif\0\0\0\0avifmif1miaf'],
    ['one byte', 'x'],
    ['other RIFF', 'RIFF\u0010\0\0\0AVI LIST\0\0\0\0'],
  ])('DL-5: %s is of no known type', (_name, text) => {
    expect(check(Buffer.from(text, 'latin1'))).toEqual({ ok: false, reason: 'unknown_type' });
  });

  it('an MP4 without index or without media data is incomplete', () => {
    expect(check(Buffer.concat([ftyp('isom'), MDAT]))).toEqual(TRUNCATED);
    expect(check(Buffer.concat([ftyp('isom'), MOOV]))).toEqual(TRUNCATED);
  });

  it('an MP4 whose media data runs to the end of the file is taken as it is', () => {
    const open = Buffer.from(MDAT);
    open.writeUInt32BE(0, 0);
    expect(check(Buffer.concat([ftyp('isom'), MOOV, open]))).toEqual(VIDEO);
  });

  it.each([
    ['a box smaller than its header', Buffer.from('00000004', 'hex')],
    ['a 64-bit box smaller than its header', Buffer.from('00000001667265650000000000000004', 'hex')],
    ['a box beyond any file', Buffer.from('0000000166726565ffffffffffffffff', 'hex')],
  ])('an MP4 with %s is damaged', (_name, tail) => {
    expect(check(Buffer.concat([ftyp('isom'), MOOV, MDAT, tail, Buffer.alloc(8)]))).toEqual(TRUNCATED);
  });

  it('an MP4 with nonsense in its index is complete, its size unknown', () => {
    const nonsense = box(
      'moov',
      box('mvhd'),
      box('trak', box('tkhd')),
      Buffer.from('ffffffff', 'hex'),
      Buffer.alloc(9),
    );
    expect(check(Buffer.concat([ftyp('isom'), nonsense, MDAT]))).toEqual({
      ...VIDEO,
      width: null,
      height: null,
      durationSeconds: null,
    });
  });

  it('a huge index is passed over, not held', () => {
    const huge = box('moov', MOOV.subarray(8), Buffer.alloc(4 * 1024 * 1024));
    expect(check(Buffer.concat([ftyp('isom'), huge, MDAT]), 65_536)).toMatchObject({ ok: true, width: null });
  });

  it('DL-6: a PNG of any size is only read, never decoded', () => {
    expect(check(png(50_000, 50_000))).toMatchObject({ ok: true, width: 50_000, height: 50_000 });
  });

  it('bytes after the end of a PNG or WAV are ignored', () => {
    expect(check(Buffer.concat([png(640, 480), Buffer.from('trailer')]))).toEqual(PICTURE);
    expect(check(Buffer.concat([wav(2000), Buffer.from('trailer')]))).toEqual(SOUND);
  });

  it('a WAV with open sizes, as streaming encoders write it, ends where it ends', () => {
    const open = { riff: 0xffffffff, data: 0xffffffff };
    expect(check(wav(2000, open))).toEqual({ ...SOUND, durationSeconds: null });
    expect(check(wav(2000, { riff: 0xffffffff }))).toEqual(SOUND);
    expect(check(wav(2000, { riff: 0xffffffff }).subarray(0, 1000))).toEqual(TRUNCATED);
  });

  it('a WAV whose samples are cut although the RIFF size was made to fit is truncated', () => {
    expect(check(wav(2000, { data: 8000 }))).toEqual(TRUNCATED);
  });

  it('finish wants to have seen every byte', () => {
    const media = createMediaCheck();
    media.write(Buffer.alloc(3));
    expect(() => media.finish(4)).toThrow('media check saw 3 bytes of 4: write every chunk');
  });
});
