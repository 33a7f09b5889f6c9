import { readMovie } from './mp4-movie.ts';
import { ascii, type Container, type ContainerParser, skip, take, TRUNCATED, viewOf } from './parser.ts';

/** A larger index is passed over: then width, height and duration stay unknown. */
const MAX_MOVIE_BYTES = 4 * 1024 * 1024;
/** Pictures in the same container (AVIF, HEIC, CR3). */
const STILL_BRANDS = new Set('avif avis heic heix heim heis hevc hevx mif1 msf1 crx'.split(' '));
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  'qt  ': 'video/quicktime',
  'M4A ': 'audio/mp4',
  'M4B ': 'audio/mp4',
};

/**
 * ISO base media (ISO/IEC 14496-12): complete when the sizes of the top-level boxes sum to the file's size and both
 * the index (`moov`) and media data (`mdat`) are there; the index may be at the end.
 */
export const mp4: Container = {
  matches: (head) => ascii(head, 4, 8) === 'ftyp' && !STILL_BRANDS.has(ascii(head, 8, 12).trimEnd()),
  parse: parseMp4,
};

function* parseMp4(): ContainerParser {
  let mediaType = 'video/mp4';
  let movie: ReturnType<typeof readMovie> | null = null;
  let hasMovie = false;
  let hasData = false;
  for (;;) {
    const header = yield* take(8);
    if (header === null) break;
    const type = ascii(header, 4, 8);
    const declared = viewOf(header).getUint32(0);
    hasData ||= type === 'mdat';
    hasMovie ||= type === 'moov';
    if (declared === 0) {
      // The box goes on to the end of the file.
      if (type !== 'mdat') return TRUNCATED;
      break;
    }
    let size = declared - 8;
    if (declared === 1) {
      const large = yield* take(8);
      if (large === null) return TRUNCATED;
      size = Number(viewOf(large).getBigUint64(0)) - 16;
    }
    if (size < 0 || !Number.isSafeInteger(size)) return TRUNCATED;
    const wanted = type === 'ftyp' ? size >= 4 && size <= 4096 : type === 'moov' && size <= MAX_MOVIE_BYTES;
    if (!wanted || size === 0) {
      if (!(yield* skip(size))) return TRUNCATED;
      continue;
    }
    const content = yield* take(size);
    if (content === null) return TRUNCATED;
    if (type === 'ftyp') mediaType = MEDIA_TYPES[ascii(content, 0, 4)] ?? mediaType;
    else movie = readMovie(content);
  }
  if (!hasMovie || !hasData) return TRUNCATED;
  const { width = null, height = null, durationSeconds = null } = movie ?? {};
  return { ok: true, mediaType, width, height, durationSeconds };
}
