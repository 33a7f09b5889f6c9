/** What a container says of itself; null where it does not say. */
export interface MediaFacts {
  readonly mediaType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
}

export type MediaVerdict =
  | ({ readonly ok: true } & MediaFacts)
  | { readonly ok: false; readonly reason: 'empty' | 'unknown_type' | 'truncated' };

/**
 * The next bytes a parser wants: `take` are handed over together, `skip` are only counted, and `scan` is shown each
 * piece, where it says how many bytes end it, or null when it wants all of them and more.
 */
export type Need =
  | { readonly take: number }
  | { readonly skip: number }
  | { readonly scan: (bytes: Uint8Array) => number | null };

/**
 * Walks one file: yields what it needs, gets the taken bytes, or null when the file ended exactly before them. Returning
 * ends the walk, further bytes are ignored; a file that ends within a need is truncated.
 */
export type ContainerParser = Generator<Need, MediaVerdict, Uint8Array | null>;

export interface Container {
  /** Decides on the first 16 bytes (fewer if the file is shorter). */
  matches(head: Uint8Array): boolean;
  parse(): ContainerParser;
}

export const TRUNCATED: MediaVerdict = { ok: false, reason: 'truncated' };
export const UNKNOWN: MediaVerdict = { ok: false, reason: 'unknown_type' };

/** Takes bytes; null when the file ended exactly before them. They are held, so a size from a file needs a limit. */
export function* take(bytes: number): Generator<Need, Uint8Array | null, Uint8Array | null> {
  return bytes === 0 ? new Uint8Array(0) : yield { take: bytes };
}

/** Passes over bytes; false when the file ended exactly before them. */
export function* skip(bytes: number): Generator<Need, boolean, Uint8Array | null> {
  return bytes === 0 || (yield { skip: bytes }) !== null;
}

/** Passes over bytes until `find` ends it; false when the file ended exactly before them. */
export function* scan(
  find: (bytes: Uint8Array) => number | null,
): Generator<Need, boolean, Uint8Array | null> {
  return (yield { scan: find }) !== null;
}

/** A few bytes as text; each becomes an argument of a call, so their number must not be a file's to choose. */
export function ascii(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
