import { type Need, take, viewOf } from './parser.ts';

/** An element's head (RFC 8794). */
export interface Element {
  /** With its length marker, as specifications write it. */
  readonly id: number;
  /** Of its content; null = unknown, it ends where its parent's next child begins. */
  readonly size: number | null;
  /** Of the head itself. */
  readonly headBytes: number;
}

/** Reads the head of the next element; `end` when the file ended exactly before it, `damaged` when it makes no sense. */
export function* takeElement(): Generator<Need, Element | 'end' | 'damaged', Uint8Array | null> {
  const id = yield* takeNumber(4);
  if (id === 'end') return 'end';
  const size = yield* takeNumber(8);
  if (id === 'damaged' || size === 'damaged' || size === 'end') return 'damaged';
  return { id: id.marked, size: size.value, headBytes: id.bytes + size.bytes };
}

/** The elements within a master element that is held, as far as their sizes make sense. */
export function* elementsOf(content: Uint8Array): Generator<readonly [id: number, content: Uint8Array]> {
  for (let at = 0; at < content.length;) {
    const id = readNumber(content.subarray(at, at + 4));
    const size = id && readNumber(content.subarray(at + id.bytes, at + id.bytes + 8));
    if (!id || !size || size.value === null) return;
    const start = at + id.bytes + size.bytes;
    at = start + size.value;
    if (at > content.length) return;
    yield [id.marked, content.subarray(start, at)];
  }
}

/** An unsigned integer element; none is 0, and one of too many bytes is larger than anything sensible. */
export function readUnsigned(content: Uint8Array): number {
  return content.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** A float element has 0, 4 or 8 bytes. */
export function readFloat(content: Uint8Array): number | null {
  if (content.length === 4) return viewOf(content).getFloat32(0);
  return content.length === 8 ? viewOf(content).getFloat64(0) : null;
}

interface VariableNumber {
  readonly bytes: number;
  readonly marked: number;
  /** null = all ones, "unknown". */
  readonly value: number | null;
}

function* takeNumber(
  maxBytes: number,
): Generator<Need, VariableNumber | 'end' | 'damaged', Uint8Array | null> {
  const first = yield* take(1);
  if (first === null) return 'end';
  const bytes = lengthOf(first);
  if (bytes > maxBytes) return 'damaged';
  if (bytes === 1) return readNumber(first) ?? 'damaged';
  const rest = yield* take(bytes - 1);
  return (rest && readNumber(Buffer.concat([first, rest]))) ?? 'damaged';
}

/** Null when the number is cut. Rounded where it is larger than any file. */
function readNumber(content: Uint8Array): VariableNumber | null {
  const bytes = lengthOf(content);
  if (content.length < bytes) return null;
  const mask = 0xff >> bytes;
  // Without its marker: with it, eight bytes are never held exactly.
  let value = (content[0] ?? 0) & mask;
  let isUnknown = value === mask;
  for (let at = 1; at < bytes; at++) {
    value = value * 256 + (content[at] ?? 0);
    isUnknown &&= content[at] === 0xff;
  }
  return { bytes, marked: value + 2 ** (7 * bytes), value: isUnknown ? null : value };
}

/** From 1 to 8 by the zero bits in front; 9 where there are only zeros. */
function lengthOf(content: Uint8Array): number {
  return Math.clz32(content[0] ?? 0) - 24 + 1;
}
