import { elementsOf, readFloat, readUnsigned, takeElement } from './ebml.ts';
import { ascii, type Container, type ContainerParser, skip, take, TRUNCATED, UNKNOWN } from './parser.ts';

const EBML = 0x1a45dfa3;
const DOC_TYPE = 0x4282;
const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const TRACKS = 0x1654ae6b;
const TRACK_ENTRY = 0xae;
const TRACK_TYPE = 0x83;
const VIDEO = 0xe0;
const PIXEL_WIDTH = 0xb0;
const PIXEL_HEIGHT = 0xba;
const CLUSTER = 0x1f43b675;
const SIMPLE_BLOCK = 0xa3;
const BLOCK_GROUP = 0xa0;

/** Larger descriptions are passed over: what they say stays unknown. */
const MAX_HELD_BYTES = 1024 * 1024;
/** `webm`, and the zeros that some writers fill the field up with. */
const MAX_DOC_TYPE_BYTES = 32;
const NANOSECONDS = 1e9;
const NOTHING = new Uint8Array(0);

/**
 * WebM (RFC 9559, WebM container guidelines): complete when the elements lead to the segment's size; where a live
 * encoder left that open, the file has to end at the border of an element. Other Matroska files are not known.
 */
export const webm: Container = {
  matches: (head) => head.length >= 4 && ascii(head, 0, 4) === '\u001aE\u00df\u00a3',
  parse: parseWebm,
};

function* parseWebm(): ContainerParser {
  let end: number | null = null;
  for (let id = 0; id !== SEGMENT;) {
    const element = yield* takeElement();
    if (typeof element === 'string') return TRUNCATED;
    if (id === 0) {
      if (element.id !== EBML || element.size === null || element.size > MAX_HELD_BYTES) return TRUNCATED;
      const content = yield* take(element.size);
      if (content === null) return TRUNCATED;
      if (!isWebm(content)) return UNKNOWN;
    } else if (element.id === SEGMENT) end = element.size ?? Infinity;
    else if (element.size === null || !(yield* skip(element.size))) return TRUNCATED;
    id = element.id;
  }
  return end === null ? TRUNCATED : yield* parseSegment(end);
}

/** Clusters of unknown size are entered: their blocks stand beside them in this walk. */
function* parseSegment(end: number): ContainerParser {
  let durationSeconds: number | null = null;
  let tracks: Tracks | null = null;
  let hasData = false;
  for (let at = 0; at < end;) {
    const element = yield* takeElement();
    if (element === 'end' && end === Infinity) break;
    if (typeof element === 'string') return TRUNCATED;
    const { id, size } = element;
    at += element.headBytes + (size ?? 0);
    if (at > end || (size === null && id !== CLUSTER)) return TRUNCATED;
    if (size === null) continue;
    const isHeld = (id === INFO || id === TRACKS) && size <= MAX_HELD_BYTES;
    if (isHeld) {
      const content = yield* take(size);
      if (content === null) return TRUNCATED;
      if (id === INFO) durationSeconds = readDuration(content);
      else tracks = readTracks(content);
    } else if (!(yield* skip(size))) return TRUNCATED;
    hasData ||= (id === CLUSTER && size > 0) || id === SIMPLE_BLOCK || id === BLOCK_GROUP;
  }
  if (!hasData) return TRUNCATED;
  const { isAudio = false, width = null, height = null } = tracks ?? {};
  return { ok: true, mediaType: isAudio ? 'audio/webm' : 'video/webm', width, height, durationSeconds };
}

function isWebm(header: Uint8Array): boolean {
  const docType = new Map(elementsOf(header)).get(DOC_TYPE);
  if (docType === undefined || docType.length > MAX_DOC_TYPE_BYTES) return false;
  return ascii(docType, 0, docType.length).replace(/\0+$/, '') === 'webm';
}

function readDuration(info: Uint8Array): number | null {
  const fields = new Map(elementsOf(info));
  const duration = readFloat(fields.get(DURATION) ?? NOTHING);
  const scale = fields.get(TIMESTAMP_SCALE);
  const nanoseconds = scale === undefined ? 1_000_000 : readUnsigned(scale);
  return duration === null || duration === 0 ? null : (duration * nanoseconds) / NANOSECONDS;
}

interface Tracks {
  readonly isAudio: boolean;
  readonly width: number | null;
  readonly height: number | null;
}

/** The picture size of the largest video track. */
function readTracks(content: Uint8Array): Tracks {
  let isAudio = false;
  let isVideo = false;
  let [width, height] = [0, 0];
  for (const [id, entry] of elementsOf(content)) {
    if (id !== TRACK_ENTRY) continue;
    const fields = new Map(elementsOf(entry));
    const type = readUnsigned(fields.get(TRACK_TYPE) ?? NOTHING);
    isVideo ||= type === 1;
    isAudio ||= type === 2;
    const video = new Map(elementsOf(fields.get(VIDEO) ?? NOTHING));
    const pixels = (name: number): number => readUnsigned(video.get(name) ?? NOTHING);
    const [x, y] = [pixels(PIXEL_WIDTH), pixels(PIXEL_HEIGHT)];
    if (x * y > width * height) [width, height] = [x, y];
  }
  return { isAudio: isAudio && !isVideo, width: width || null, height: height || null };
}
