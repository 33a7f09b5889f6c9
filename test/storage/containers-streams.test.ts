import { describe, expect, it } from 'vitest';
import { realFile } from './containers-files.ts';
import { element } from './media.ts';
import { check } from './sniff.ts';

const TRUNCATED = { ok: false, reason: 'truncated' };
const UNKNOWN = { ok: false, reason: 'unknown_type' };
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('WebM', () => {
  const EBML = element('1a45dfa3', element('4282', 'webm'));
  const INFO = element(
    '1549a966',
    Buffer.concat([element('2ad7b1', hex('0f4240')), element('4489', hex('459c4000'))]),
  );
  const track = (type: number, width = '', height = ''): Buffer => {
    const video =
      width === ''
        ? []
        : [element('e0', Buffer.concat([element('b0', hex(width)), element('ba', hex(height))]))];
    return element('ae', Buffer.concat([element('83', Buffer.from([type])), ...video]));
  };
  const TRACKS = element(
    '1654ae6b',
    Buffer.concat([track(2), track(1, '0500', '02d0'), track(1, '10', '10')]),
  );
  const BLOCK = element('a3', Buffer.alloc(50, 0xff));
  const CLUSTER = element('1f43b675', Buffer.concat([element('e7', hex('00')), BLOCK]));
  const segment = (...parts: readonly Uint8Array[]): Buffer =>
    Buffer.concat([EBML, element('18538067', Buffer.concat(parts))]);
  const live = (...parts: readonly Uint8Array[]): Buffer =>
    Buffer.concat([EBML, element('18538067', Buffer.concat(parts), true)]);
  const VIDEO = { ok: true, mediaType: 'video/webm', width: 1280, height: 720, durationSeconds: 5 };

  it('tells the size of its largest track and its duration', () => {
    expect(check(segment(INFO, TRACKS, CLUSTER))).toEqual(VIDEO);
    expect(check(segment(element('ec', Buffer.alloc(9)), CLUSTER, TRACKS, INFO))).toEqual(VIDEO);
    expect(check(Buffer.concat([segment(INFO, TRACKS, CLUSTER), Buffer.from('trailer')]))).toEqual(VIDEO);
  });

  it('DL-1: from a live encoder it ends at the border of an element, or is cut', () => {
    const open = Buffer.concat([element('1f43b675', element('e7', hex('00')), true), BLOCK, BLOCK]);
    const file = live(INFO, TRACKS, open, open, element('1c53bb6b', 'cues'));
    expect(check(file)).toEqual(VIDEO);
    const [first, second] = [EBML.length + 12 + INFO.length + TRACKS.length, BLOCK.length];
    const borders = Array.from({ length: file.length }, (_, i) => i).filter(
      (n) => check(file.subarray(0, n)).ok,
    );
    // After each block, and after the heads and times between the two clusters.
    expect(borders).toEqual([
      first + 12 + 10 + second,
      first + 12 + 10 + 2 * second,
      first + 12 + 10 + 2 * second + 12,
      first + 12 + 10 + 2 * second + 12 + 10,
      first + 2 * (12 + 10) + 3 * second,
      first + 2 * (12 + 10) + 4 * second,
    ]);
  });

  it('of sound only is audio', () => {
    expect(check(segment(INFO, element('1654ae6b', track(2)), CLUSTER))).toEqual({
      ok: true,
      mediaType: 'audio/webm',
      width: null,
      height: null,
      durationSeconds: 5,
    });
  });

  it.each([
    ['a duration that is no number', element('4489', hex('7fc00000'))],
    ['an endless duration', element('4489', hex('7ff0000000000000'))],
    ['a negative duration', element('4489', hex('c59c4000'))],
    ['a duration of nothing', element('4489', hex('00000000'))],
    ['an empty duration', element('4489', '')],
    ['no duration', element('4d80', 'muxer')],
    ['fields beyond their parent', hex('4489 88 459c4000')],
  ])('with %s is whole, its duration unknown', (_name, info) => {
    expect(check(segment(element('1549a966', info), TRACKS, CLUSTER))).toEqual({
      ...VIDEO,
      durationSeconds: null,
    });
  });

  it('a double and the usual scale are read too', () => {
    const info = element('1549a966', element('4489', hex('40a7700000000000')));
    expect(check(segment(info, TRACKS, CLUSTER))).toEqual({ ...VIDEO, durationSeconds: 3 });
  });

  it.each([
    ['more pixels than a column holds', track(1, 'ffffffff', '0001')],
    ['a number of nine bytes', track(1, '010000000000000000', '0001')],
    ['no picture', track(1)],
  ])('a track with %s has no known size', (_name, entry) => {
    const file = segment(INFO, element('1654ae6b', entry), CLUSTER);
    expect(check(file)).toEqual({ ...VIDEO, width: null, height: null });
  });

  it('a huge description is passed over, not held', () => {
    const tracks = element('1654ae6b', Buffer.concat([TRACKS.subarray(12), Buffer.alloc(1024 * 1024)]));
    expect(check(segment(INFO, tracks, CLUSTER), 65_536)).toEqual({ ...VIDEO, width: null, height: null });
  });

  it.each([
    ['no cluster', segment(INFO, TRACKS)],
    ['an empty live cluster', live(INFO, TRACKS, element('1f43b675', '', true))],
    [
      'an element beyond its segment',
      Buffer.concat([segment(INFO, TRACKS, CLUSTER, hex('ec 8a 00')), Buffer.alloc(20)]),
    ],
    ['an element beyond any file', live(INFO, TRACKS, CLUSTER, hex('ec 01fffffffffffffe 00'))],
    ['an open element that may not be', live(INFO, TRACKS, CLUSTER, element('1c53bb6b', '', true))],
    ['zeros between its elements', live(INFO, TRACKS, CLUSTER, Buffer.alloc(18))],
    ['an id of five bytes', live(INFO, TRACKS, CLUSTER, hex('08ffffffff 80'))],
    ['no segment', Buffer.concat([EBML, element('ec', Buffer.alloc(20))])],
    [
      'a huge header',
      Buffer.concat([
        element('1a45dfa3', Buffer.concat([element('4282', 'webm'), Buffer.alloc(1024 * 1024)])),
        segment(INFO, TRACKS, CLUSTER).subarray(EBML.length),
      ]),
    ],
    ['an endless header', Buffer.concat([element('1a45dfa3', '', true), Buffer.alloc(20)])],
  ])('with %s is damaged', (_name, file) => {
    expect(check(file)).toEqual(TRUNCATED);
  });

  it.each([
    ['alone', 0, VIDEO],
    ['filled up to 32 bytes', 28, VIDEO],
    ['filled up to 33 bytes', 29, UNKNOWN],
    ['filled up to 100 kB', 100_000, UNKNOWN],
    ['filled up to 500 kB', 500_000, UNKNOWN],
    ['filled up to the largest header', 1024 * 1024 - 15, UNKNOWN],
  ])('its name in the header, %s, is read or passed over', (_name, zeros, verdict) => {
    const name = Buffer.concat([Buffer.from('webm'), Buffer.alloc(zeros)]);
    const file = (header: Uint8Array): Buffer =>
      Buffer.concat([
        element('1a45dfa3', element('4282', header)),
        segment(INFO, TRACKS, CLUSTER).subarray(EBML.length),
      ]);
    expect(check(file(name), 65_536)).toEqual(verdict);
    // Zeros that do not lead to the end.
    expect(check(file(Buffer.concat([name, Buffer.from('x')])), 65_536)).toEqual(UNKNOWN);
  });
});

describe('MP3', () => {
  // MPEG-1, 44.1 kHz, 64 kbit/s, mono: 208 bytes and 1152 samples.
  const FRAME = Buffer.concat([hex('fffb50c4'), Buffer.alloc(204, 0x11)]);
  /** Three times these header bytes, at the distance of FRAME. */
  const framesOf = (header: string): Buffer => {
    const frame = Buffer.concat([hex(header), FRAME.subarray(4)]);
    return Buffer.concat([frame, frame, frame]);
  };
  const frames = (count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => FRAME));
  const uint32 = (value: number): Buffer => hex(value.toString(16).padStart(8, '0'));
  /** A frame that promises so many frames and bytes. */
  const promise = (name: 'Xing' | 'Info' | 'VBRI', count: number, bytes: number): Buffer => {
    const frame = Buffer.concat([FRAME.subarray(0, 4), Buffer.alloc(204)]);
    if (name === 'VBRI')
      Buffer.concat([Buffer.from('VBRI'), hex('0001 0000 0064'), uint32(bytes), uint32(count)]).copy(
        frame,
        36,
      );
    else Buffer.concat([Buffer.from(name), uint32(3), uint32(count), uint32(bytes)]).copy(frame, 21);
    return frame;
  };
  const id3 = (bytes: number, flags = '00'): Buffer =>
    Buffer.concat([
      Buffer.from('ID3'),
      hex(`0400 ${flags} 0000`),
      Buffer.from([bytes >> 7, bytes & 0x7f]),
      Buffer.alloc(bytes, 0xff),
    ]);
  const ID3V1 = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125, 0x20)]);
  const APE_ITEMS = Buffer.alloc(40, 0x41);
  const ape = (flags: string): Buffer =>
    Buffer.concat([Buffer.from('APETAGEX'), hex(`d0070000 48000000 01000000 ${flags}`), Buffer.alloc(8)]);
  const sound = (count: number) => ({
    ok: true,
    mediaType: 'audio/mpeg',
    width: null,
    height: null,
    durationSeconds: Math.round(((count * 1152) / 44_100) * 1e6) / 1e6,
  });

  it.each([
    ['nothing around', [frames(10)]],
    ['an ID3v2 tag full of 0xff', [id3(1000), frames(10)]],
    ['an ID3v2 tag with a footer', [id3(200, '10'), Buffer.alloc(10), frames(10)]],
    ['an ID3v1 tag', [frames(10), ID3V1]],
    ['an APE and an ID3v1 tag', [frames(10), ape('000000a0'), APE_ITEMS, ape('00000080'), ID3V1]],
    ['an APE tag that is only a footer', [frames(10), ape('00000080'), ID3V1]],
    ['a kept promise', [promise('Info', 10, 11 * 208), frames(10)]],
    ['a kept VBRI promise', [promise('VBRI', 10, 11 * 208), frames(10)]],
    ['a promise of nothing', [promise('Xing', 0, 0), frames(10)]],
    [
      'a kept promise and a tail of another kind',
      [promise('Xing', 10, 11 * 208), frames(10), Buffer.from('LYRICSBEGIN')],
    ],
    ['a promise that counts its own frame', [promise('Xing', 11, 11 * 208), frames(10)]],
    [
      'two files joined',
      [id3(50), promise('Info', 4, 0), frames(4), id3(60), promise('Info', 6, 0), frames(6)],
    ],
  ])('with %s is whole and as long as its frames', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(sound(10));
  });

  it.each([
    ['frames missing of those promised', [promise('Info', 10, 0), frames(8)]],
    ['its last frame missing and no bytes promised', [promise('Info', 10, 0), frames(9)]],
    ['its last frame missing of those promised', [promise('Info', 10, 11 * 208), frames(9)]],
    ['its last frame missing and a large tag before', [id3(9000), promise('Info', 10, 11 * 208), frames(9)]],
    ['frames missing of those promised in VBRI', [promise('VBRI', 10, 0), frames(8)]],
    ['bytes missing of those promised', [promise('Xing', 0, 11 * 208), frames(9)]],
    ['something else between its frames', [frames(10), Buffer.alloc(40), frames(1)]],
    ['a cut ID3v2 tag', [id3(1000).subarray(0, 500)]],
    ['a tag and no sound', [id3(100)]],
    ['a cut ID3v1 tag', [frames(10), ID3V1.subarray(0, 100)]],
    ['a cut APE tag', [frames(10), ape('000000a0'), APE_ITEMS.subarray(0, 20)]],
    ['a promise and no sound', [promise('Xing', 0, 0), promise('Xing', 0, 0)]],
    ['one frame', [frames(1)]],
  ])('with %s is damaged', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(TRUNCATED);
  });

  it.each([
    ['a frame that nothing follows', [frames(1), Buffer.from('something else')]],
    ['no frame behind its tag', [id3(100), Buffer.from('fLaC and more')]],
    ['a rate that does not exist', [framesOf('fffb5cc4')]],
    ['a free bit rate', [framesOf('fffb00c4')]],
    ['the reserved version', [framesOf('ffeb50c4')]],
    ['the reserved emphasis', [framesOf('fffb50c6')]],
    ['layer II', [framesOf('fffd50c4')]],
  ])('DL-5: with %s is of no known type', (_name, parts) => {
    expect(check(Buffer.concat(parts))).toEqual(UNKNOWN);
  });

  it.each([
    ['MPEG-1 48 kHz stereo', 'fffb5400', 192, 1152 / 48_000],
    ['MPEG-1 with padding', 'fffb5200', 209, 1152 / 44_100],
    ['MPEG-2 22.05 kHz', 'fff38000', 208, 576 / 22_050],
    ['MPEG-2.5 8 kHz', 'ffe31800', 72, 576 / 8000],
  ])('%s frames have their length and duration', (_name, header, bytes, seconds) => {
    const frame = Buffer.concat([hex(header), Buffer.alloc(bytes - 4)]);
    const verdict = check(Buffer.concat([frame, frame, frame]));
    expect(verdict).toMatchObject({ ok: true, durationSeconds: Math.round(3 * seconds * 1e6) / 1e6 });
  });

  it('T36 the duration of a real file is that of its frames, whatever its sender announces', () => {
    const file = realFile('MP3 without Xing');
    // Cut between two frames: whole in itself, and shorter than the 0.36 seconds announced.
    expect(check(file.subarray(0, 288))).toMatchObject({ ok: true, durationSeconds: 0.288 });
  });
});
