import { describe, expect, it } from 'vitest';
import { inputSpecSchema, namedFiles } from '../../src/domain/input-fields.ts';
import { limitsInWords, mediaProblem, sizeAdvice, UPLOAD_LIMITS } from '../../src/domain/media-limits.ts';

const image = (width: number | null, height: number | null, bytes = 1_000) => ({
  mediaType: 'image/png',
  bytes,
  width,
  height,
});
const kindOf = (facts: Parameters<typeof mediaProblem>[0], limits = UPLOAD_LIMITS) =>
  mediaProblem(facts, limits)?.kind ?? 'fits';

describe('what an upload may be', () => {
  it.each([
    [16, 16, 'fits'],
    [15, 16, 'dimensions'],
    [16, 15, 'dimensions'],
    [8_192, 16, 'fits'],
    [8_193, 16, 'dimensions'],
    [16, 8_193, 'dimensions'],
    [8_000, 5_000, 'fits'],
    [8_000, 5_001, 'dimensions'],
    [null, 16, 'dimensions'],
    [16, null, 'dimensions'],
  ])('an image of %s × %s: %s', (width, height, kind) => {
    expect(kindOf(image(width, height))).toBe(kind);
  });

  it('64 MiB, and not a byte more', () => {
    expect(kindOf(image(16, 16, 67_108_864))).toBe('fits');
    expect(mediaProblem(image(16, 16, 67_108_865), UPLOAD_LIMITS)).toEqual({
      kind: 'size',
      message: 'Is too large: use at most 67108864 bytes.',
    });
  });

  it('sides bound images only; other kinds are refused with those that are taken', () => {
    expect(kindOf({ ...image(8, 8), mediaType: 'video/mp4' })).toBe('fits');
    expect(kindOf({ ...image(null, null), mediaType: 'audio/mpeg' })).toBe('fits');
    expect(
      mediaProblem({ ...image(16, 16), mediaType: 'model/gltf-binary' }, UPLOAD_LIMITS)?.message,
    ).toMatch(/^Is model\/gltf-binary: use one of image\/png, .*audio\/mpeg\.$/);
  });

  it('says what is wrong, with its figures', () => {
    const message = (facts: ReturnType<typeof image>) => mediaProblem(facts, UPLOAD_LIMITS)?.message;
    expect(message(image(9_000, 20))).toBe('Is 9000 × 20 pixels: each side must have 16 to 8192.');
    expect(message(image(8_000, 8_000))).toBe('Is 8000 × 8000 pixels: use at most 40 megapixels in all.');
    expect(message(image(null, null))).toBe('Does not say how many pixels it has: save it anew.');
    expect(sizeAdvice({ maxBytes: 5 })).toBe('Is too large: use at most 5 bytes.');
  });
});

describe('the limits of a field', () => {
  const { image_url: limits } = inputSpecSchema.parse({
    image_url: { mediaTypes: ['image/jpeg'], maxBytes: 1_500, minSide: 300, maxSide: 600 },
  });

  it('hold instead', () => {
    expect(kindOf({ ...image(300, 600), mediaType: 'image/jpeg' }, limits)).toBe('fits');
    expect(kindOf({ ...image(299, 600), mediaType: 'image/jpeg' }, limits)).toBe('dimensions');
    expect(kindOf({ ...image(300, 601), mediaType: 'image/jpeg' }, limits)).toBe('dimensions');
    expect(kindOf({ ...image(300, 300, 1_501), mediaType: 'image/jpeg' }, limits)).toBe('size');
    expect(kindOf(image(300, 300), limits)).toBe('type');
  });

  it('in words', () => {
    expect(limitsInWords(limits!)).toBe(
      'image/jpeg; at most 1500 bytes; images of 300 to 600 pixels a side, at most 40 megapixels',
    );
    expect(limitsInWords(UPLOAD_LIMITS)).toContain('; at most 64 MiB; ');
  });

  it('have defaults, and are only taken as far as uploads go', () => {
    expect(inputSpecSchema.parse({ image_url: {} }).image_url).toEqual({
      required: true,
      mediaTypes: ['image/png', 'image/jpeg', 'image/webp'],
      maxBytes: 20_971_520,
      minSide: 16,
      maxSide: 8_192,
    });
    for (const wrong of [{ maxBytes: 67_108_865 }, { maxSide: 8_193 }, { minSide: 0 }, { mediaTypes: [] }]) {
      expect(inputSpecSchema.safeParse({ image_url: wrong }).success).toBe(false);
    }
  });
});

describe('the files that an input names', () => {
  const spec = inputSpecSchema.parse({ prompt: {}, image_url: { required: false } });

  it('are the values of its file fields, with their limits', () => {
    expect(namedFiles(spec, { prompt: 'a', image_url: 'https://example.com/a.png' })).toEqual([
      { field: 'image_url', value: 'https://example.com/a.png', limits: spec.image_url },
    ]);
    expect(namedFiles(spec, { prompt: 'a' })).toEqual([]);
    expect(namedFiles(inputSpecSchema.parse({ prompt: {} }), { image_url: 'x' })).toEqual([]);
  });
});
