import { describe, expect, it } from 'vitest';
import { sizeOf, sizesOf } from '../../src/domain/video-sizes.ts';

describe('sizeOf', () => {
  it.each<[string | undefined, string | undefined, string | null]>([
    ['720p', '16:9', '1280x720'],
    ['720p', '9:16', '720x1280'],
    ['1080p', '16:9', '1920x1080'],
    ['1080P', '1:1', '1080x1080'],
    ['480p', '16:9', '854x480'],
    ['480p', '9:16', '480x854'],
    ['720p', '4:3', '960x720'],
    ['720p', '3:4', '720x960'],
    ['720p', '21:9', '1680x720'],
    ['hd', '16:9', '1280x720'],
    ['fhd', '9:16', '1080x1920'],
    ['2k', '16:9', '2560x1440'],
    ['4K', '9:16', '2160x3840'],
    ['1080p', undefined, '1920x1080'],
    [undefined, '9:16', '720x1280'],
    ['1280x720', '9:16', '1280x720'],
    ['720:1280', undefined, '720x1280'],
    [undefined, undefined, null],
    ['high', '16:9', null],
    ['720p', 'auto', null],
  ])('of %s and %s is %s', (resolution, ratio, size) => {
    expect(sizeOf(resolution, ratio)).toBe(size);
  });
});

describe('sizesOf', () => {
  const resolution = { values: ['720p', '1080p', 'high'], default: '720p' };
  const aspect_ratio = { values: ['16:9', '9:16', 'auto'], default: '16:9' };

  it('has every pair whose words tell a size, and what it stands for', () => {
    expect([...sizesOf({ resolution, aspect_ratio })]).toEqual([
      ['1280x720', { resolution: '720p', aspect_ratio: '16:9' }],
      ['720x1280', { resolution: '720p', aspect_ratio: '9:16' }],
      ['1920x1080', { resolution: '1080p', aspect_ratio: '16:9' }],
      ['1080x1920', { resolution: '1080p', aspect_ratio: '9:16' }],
    ]);
  });

  it('names no field that the model has not', () => {
    expect([...sizesOf({ resolution })]).toEqual([
      ['1280x720', { resolution: '720p' }],
      ['1920x1080', { resolution: '1080p' }],
    ]);
    expect([...sizesOf({ aspect_ratio })]).toEqual([
      ['1280x720', { aspect_ratio: '16:9' }],
      ['720x1280', { aspect_ratio: '9:16' }],
    ]);
    expect(sizesOf({}).size).toBe(0);
  });

  it('takes the first of two names for one size', () => {
    const twice = { values: ['4k', '2160p'], default: '4k' };
    expect([...sizesOf({ resolution: twice })]).toEqual([['3840x2160', { resolution: '4k' }]]);
  });
});
