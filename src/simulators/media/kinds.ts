import { makeMp4 } from './mp4.ts';
import { makePng } from './png.ts';
import { makeWav } from './wav.ts';

export type MediaKind = 'video' | 'image' | 'audio';

interface Media {
  readonly extension: string;
  readonly type: string;
  /** Equal arguments give equal bytes; another seed gives others. */
  readonly make: (seed: string, seconds: number) => Buffer;
  /** Real media, but not what was asked for. */
  readonly wrong: MediaKind;
}

/** The files that a simulated job makes, by what was asked for. */
export const MEDIA: Readonly<Record<MediaKind, Media>> = {
  video: { extension: 'mp4', type: 'video/mp4', make: makeMp4, wrong: 'image' },
  image: { extension: 'png', type: 'image/png', make: makePng, wrong: 'audio' },
  audio: { extension: 'wav', type: 'audio/wav', make: makeWav, wrong: 'image' },
};
