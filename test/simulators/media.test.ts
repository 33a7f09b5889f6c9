import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nalUnit } from '../../src/simulators/media/h264.ts';
import { MEDIA } from '../../src/simulators/media/kinds.ts';
import { makeMp4 } from '../../src/simulators/media/mp4.ts';
import { makeWav } from '../../src/simulators/media/wav.ts';
import { createMediaCheck } from '../../src/storage/sniff.ts';
import { findBox, walkBoxes } from './mp4-boxes.ts';

describe('makeMp4', () => {
  const file = makeMp4('job_1', 3);

  test('equal arguments give equal bytes, another job gives others', () => {
    expect(makeMp4('job_1', 3).equals(file)).toBe(true);
    expect(makeMp4('job_2', 3).equals(file)).toBe(false);
  });

  test('boxes fill the file; samples lie in mdat, end to end', () => {
    expect(walkBoxes(file).map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat']);
    const mdat = findBox(file, 'mdat');
    const table = 'moov/trak/mdia/minf/stbl';
    const { start: sizesAt } = findBox(file, `${table}/stsz`);
    const count = file.readUInt32BE(sizesAt + 8);
    expect(count).toBe(6);
    let at = file.readUInt32BE(findBox(file, `${table}/stco`).start + 8);
    expect(at).toBe(mdat.start);
    for (let sample = 0; sample < count; sample++) {
      const size = file.readUInt32BE(sizesAt + 12 + sample * 4);
      expect(file.readUInt32BE(at)).toBe(size - 4);
      expect(file[at + 4]).toBe(0x65);
      expect(hasStartCode(file.subarray(at + 5, at + size))).toBe(false);
      at += size;
    }
    expect(at).toBe(mdat.end);
  });

  test('tells its length and size', () => {
    const header = findBox(file, 'moov/mvhd').start;
    expect([file.readUInt32BE(header + 12), file.readUInt32BE(header + 16)]).toEqual([1_000, 3_000]);
    const track = findBox(file, 'moov/trak/tkhd').start;
    expect([file.readUInt32BE(track + 76) >> 16, file.readUInt32BE(track + 80) >> 16]).toEqual([64, 48]);
  });

  test('no start code can arise in a NAL unit', () => {
    const payload = [0, 0, 0, 0, 0, 1, 0, 0, 3, 0, 0, 4];
    expect([...nalUnit(0x65, Uint8Array.from(payload))]).toEqual([
      0x65, 0, 0, 3, 0, 0, 3, 0, 1, 0, 0, 3, 3, 0, 0, 4,
    ]);
  });

  test.each([
    [0, 2],
    [1, 2],
    [60, 120],
    [1_000, 120],
  ])('%i s has %i frames', (seconds, frames) => {
    const bytes = makeMp4('x', seconds);
    expect(bytes.readUInt32BE(findBox(bytes, 'moov/trak/mdia/minf/stbl/stsz').start + 8)).toBe(frames);
  });

  test('a decoder agrees, where one is installed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mp4-'));
    try {
      const path = join(folder, 'a.mp4');
      writeFileSync(path, file);
      const fields = 'stream=codec_name,profile,width,height,nb_read_frames,duration';
      const args = ['-v', 'error', '-count_frames', '-show_entries', fields, '-of', 'json', path];
      const probe = spawnSync('ffprobe', args, { encoding: 'utf8', timeout: 20_000 });
      // Without ffprobe the box walk above is the proof.
      if (probe.error !== undefined) return;
      expect(probe.stderr).toBe('');
      expect(JSON.parse(probe.stdout)).toMatchObject({
        streams: [
          {
            codec_name: 'h264',
            profile: 'Constrained Baseline',
            width: 64,
            height: 48,
            nb_read_frames: '6',
            duration: '3.000000',
          },
        ],
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.each(Object.entries(MEDIA))('%s', (_kind, { type, make, wrong }) => {
  const verdict = (bytes: Buffer) => {
    const check = createMediaCheck();
    check.write(bytes);
    return check.finish(bytes.length);
  };

  test('is what it says, whole, and not when it is cut', () => {
    const file = make('job_1', 2);
    expect(verdict(file)).toMatchObject({ ok: true, mediaType: type });
    expect(verdict(file.subarray(0, file.length - 10))).toMatchObject({ ok: false });
    expect(MEDIA[wrong].type).not.toBe(type);
  });

  test('equal arguments give equal bytes, another job gives others', () => {
    expect(make('job_1', 2).equals(make('job_1', 2))).toBe(true);
    expect(make('job_1', 2).equals(make('job_2', 2))).toBe(false);
  });
});

test('a WAV file is as long as asked, up to a minute', () => {
  const seconds = (length: number) => (makeWav('x', length).readUInt32LE(40) / 16_000).toFixed(1);
  expect([0, 1, 3, 60, 1_000].map(seconds)).toEqual(['1.0', '1.0', '3.0', '60.0', '60.0']);
});

function hasStartCode(bytes: Buffer): boolean {
  for (let i = 0; i + 2 < bytes.length; i++) {
    if (bytes[i] === 0 && bytes[i + 1] === 0 && bytes[i + 2]! < 3) return true;
  }
  return false;
}
