import { ascii, type Container, type ContainerParser, skip, take, TRUNCATED, viewOf } from './parser.ts';

/** Enough of each chunk to know what it says of size and time. */
const HEADS: Readonly<Record<string, number>> = { 'VP8 ': 10, VP8L: 5, VP8X: 10, ANMF: 16 };

/**
 * WebP (RFC 9649): complete when its chunks lead to the RIFF size and a picture is among them; the rest is ignored. The
 * duration is the sum of an animation's frames.
 */
export const webp: Container = {
  matches: (head) => ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP',
  parse: parseWebp,
};

function* parseWebp(): ContainerParser {
  const start = yield* take(12);
  if (start === null) return TRUNCATED;
  const end = viewOf(start).getUint32(4, true) + 8;
  let size: readonly [width: number, height: number] | null = null;
  let hasImage = false;
  let milliseconds = 0;
  for (let at = 12; at < end;) {
    const header = yield* take(8);
    if (header === null) return TRUNCATED;
    const type = ascii(header, 0, 4);
    const bytes = viewOf(header).getUint32(4, true);
    at += 8 + bytes;
    if (at > end) return TRUNCATED;
    const content = yield* take(Math.min(bytes, HEADS[type] ?? 0));
    if (content === null || content.length < (HEADS[type] ?? 0)) return TRUNCATED;
    // The pad byte of the last chunk is missing in some files.
    const pad = at < end ? bytes % 2 : 0;
    at += pad;
    if (!(yield* skip(bytes - content.length + pad))) return TRUNCATED;
    // VP8X, the canvas, comes first and decides.
    size ??= readSize(type, content);
    hasImage ||= type === 'VP8 ' || type === 'VP8L' || type === 'ANMF';
    if (type === 'ANMF') milliseconds += uint24(content, 12);
  }
  if (size === null || !hasImage) return TRUNCATED;
  const durationSeconds = milliseconds === 0 ? null : milliseconds / 1000;
  return { ok: true, mediaType: 'image/webp', width: size[0], height: size[1], durationSeconds };
}

function readSize(type: string, content: Uint8Array): readonly [width: number, height: number] | null {
  const view = viewOf(content);
  if (type === 'VP8X') return [uint24(content, 4) + 1, uint24(content, 7) + 1];
  // The upper two bits of each side are its scaling.
  if (type === 'VP8 ') return [view.getUint16(6, true) & 0x3fff, view.getUint16(8, true) & 0x3fff];
  if (type !== 'VP8L') return null;
  const bits = view.getUint32(1, true);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}

function uint24(bytes: Uint8Array, at: number): number {
  return viewOf(bytes).getUint16(at, true) + (bytes[at + 2] ?? 0) * 65_536;
}
