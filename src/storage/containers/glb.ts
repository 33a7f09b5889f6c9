import {
  ascii,
  type Container,
  type ContainerParser,
  skip,
  take,
  TRUNCATED,
  UNKNOWN,
  viewOf,
} from './parser.ts';

const JSON_CHUNK = 'JSON';

/** Binary glTF 2.0 (§4.4): complete when the length in its header is the file's and its chunks fill it, JSON first. */
export const glb: Container = {
  matches: (head) => ascii(head, 0, 4) === 'glTF',
  parse: parseGlb,
};

function* parseGlb(): ContainerParser {
  const start = yield* take(12);
  if (start === null) return TRUNCATED;
  if (viewOf(start).getUint32(4, true) !== 2) return UNKNOWN;
  const end = viewOf(start).getUint32(8, true);
  let at = 12;
  do {
    const header = yield* take(8);
    if (header === null) return TRUNCATED;
    const bytes = viewOf(header).getUint32(0, true);
    if (at === 12 && (ascii(header, 4, 8) !== JSON_CHUNK || bytes === 0)) return TRUNCATED;
    at += 8 + bytes;
    if (at > end || !(yield* skip(bytes))) return TRUNCATED;
  } while (at < end);
  const isWhole = (yield* take(1)) === null;
  if (!isWhole) return TRUNCATED;
  return { ok: true, mediaType: 'model/gltf-binary', width: null, height: null, durationSeconds: null };
}
