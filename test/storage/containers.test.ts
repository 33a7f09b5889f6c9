import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMediaCheck, type MediaVerdict } from '../../src/storage/index.ts';
import { REAL_FILES, realFile } from './containers-files.ts';
import { glb, png, wav } from './media.ts';
import { check } from './sniff.ts';

type Name = keyof typeof REAL_FILES;
type Facts = readonly [type: string, width: number | null, height: number | null, seconds: number | null];

/** What ffprobe 5.1 says of them; of the animated WebP, which it can't read, what Pillow was told to write. */
const FACTS: Readonly<Record<Name, Facts>> = {
  JPEG: ['image/jpeg', 32, 24, null],
  'progressive JPEG': ['image/jpeg', 33, 25, null],
  'JPEG with EXIF and restarts': ['image/jpeg', 33, 25, null],
  WebP: ['image/webp', 32, 24, null],
  'lossless WebP': ['image/webp', 32, 24, null],
  'WebP with alpha': ['image/webp', 31, 23, null],
  'animated WebP': ['image/webp', 12, 9, 0.75],
  'animated GIF': ['image/gif', 12, 9, 0.75],
  WebM: ['video/webm', 32, 24, 0.507],
  'WebM from a pipe': ['video/webm', 32, 24, null],
  'WebM, sound only': ['audio/webm', null, null, 0.208],
  MP3: ['audio/mpeg', null, null, 0.235102],
  'MP3 of variable rate': ['audio/mpeg', null, null, 0.261224],
  'MP3 without Xing': ['audio/mpeg', null, null, 0.36],
};
/** Right between two frames, where nothing promises the next. */
const UNSEEN_CUTS: Partial<Record<Name, readonly number[]>> = { 'MP3 without Xing': [144, 216, 288] };

function verdictOf([mediaType, width, height, durationSeconds]: Facts): MediaVerdict {
  return { ok: true, mediaType, width, height, durationSeconds };
}

function checkPieces(file: Uint8Array, lengths: readonly number[]): MediaVerdict {
  const media = createMediaCheck();
  let at = 0;
  for (const length of [...lengths, file.length]) {
    media.write(Uint8Array.from(file.subarray(at, at + length)));
    at += length;
  }
  return media.finish(file.length);
}

const NAMES = Object.keys(REAL_FILES) as Name[];

describe.each(NAMES)('a real file, %s', (name) => {
  const file = realFile(name);

  it.each([1, 3, 16, 100, 100_000])('T36 type, size and duration in pieces of %i bytes', (pieceBytes) => {
    expect(check(file, pieceBytes)).toEqual(verdictOf(FACTS[name]));
  });

  it('any chunking gives the same verdict', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 60 }), (lengths) => {
        expect(checkPieces(file, lengths)).toEqual(verdictOf(FACTS[name]));
      }),
      { numRuns: 30 },
    );
  });

  it('DL-1: is not whole wherever it is cut', () => {
    const taken = Array.from({ length: file.length - 1 }, (_, i) => i + 1).filter(
      (length) => check(file.subarray(0, length), 512).ok,
    );
    expect(taken).toEqual(UNSEEN_CUTS[name] ?? []);
  });

  it('with damaged bytes it ends in a verdict', () => {
    const damage = fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(damage, (changes) => {
        const damaged = Buffer.from(file);
        for (const [at, value] of changes) damaged[at] = value;
        expectVerdict(check(damaged, 1000));
      }),
      { numRuns: 100 },
    );
  });
});

/** Right in form: numbers that every column holds. */
function expectVerdict(verdict: MediaVerdict): void {
  if (!verdict.ok) {
    expect(['empty', 'unknown_type', 'truncated']).toContain(verdict.reason);
    return;
  }
  for (const pixels of [verdict.width, verdict.height]) {
    expect(pixels === null || (pixels > 0 && pixels <= 2_147_483_647)).toBe(true);
  }
  const seconds = verdict.durationSeconds;
  expect(seconds === null || (seconds >= 0 && seconds <= 1e9)).toBe(true);
}

describe('random bytes', () => {
  const starts = [...NAMES.map(realFile), png(1, 1), wav(10), glb()].map((file) => file.subarray(0, 16));

  it('DL-5: after any known beginning they never throw', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...starts),
        fc.nat(16),
        fc.uint8Array({ maxLength: 400, size: 'max' }),
        (start, kept, noise) => {
          expectVerdict(check(Buffer.concat([start.subarray(0, kept), noise]), 64));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
