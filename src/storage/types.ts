/** One attempt at storing one output: bytes are invisible until `commit`. */
export interface PendingFile {
  /** Await each one before the next. @throws StorageError, after which nothing of the file is left */
  write(chunk: Uint8Array): Promise<void>;
  /** Shows the file under its path, whole and durable, and never in place of another; returns what was stored. */
  commit(): Promise<{ readonly path: string; readonly bytes: number; readonly sha256: string }>;
  /** Removes what is not committed; safe to call at any time. */
  discard(): Promise<void>;
}

/** Where outputs and inputs live. Paths are keys made from our own ids only, never from a provider's file name. */
export interface Storage {
  /** `path` is unique per attempt: `<generation or input id>/<index>-<attempt>`; anything else is refused. */
  create(path: string): Promise<PendingFile>;
  /** Size and sha256 of a stored file, or null when there is none. */
  stat(path: string): Promise<{ readonly bytes: number; readonly sha256: string } | null>;
  /** A readable stream of the bytes; `range` is inclusive, as in HTTP. */
  read(
    path: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Paths of stored files that were last changed before this time, in any order. */
  list(before: Date): AsyncIterable<string>;
  /** Idempotent. */
  remove(path: string): Promise<void>;
  /** Readiness: writes and removes a probe; throws with a message that says what to do. */
  check(): Promise<void>;
  /**
   * Where a reader may fetch the file itself for a while, with these response headers; null where only we can read it.
   * Seconds from 1 to 3600.
   */
  presign?(
    path: string,
    options: {
      readonly expiresInSeconds: number;
      readonly contentType: string;
      readonly contentDisposition: string;
    },
  ): Promise<string>;
  /** For people: the place of a file as they would open it (a local path here). */
  locate(path: string): string;
}

/** What a scanner says of a file. `failed` is never a pass: the file is scanned again later. */
export type ScanVerdict =
  | { readonly kind: 'clean' }
  | { readonly kind: 'infected' }
  | { readonly kind: 'failed'; readonly reason: 'timeout' | 'error' };

/** Looks at a stored file before anybody may see it. Throws only `signal.reason`. */
export type FileScan = (
  file: {
    readonly bytes: number;
    readonly mediaType: string;
    /** The bytes, from the start, at each call. */
    readonly read: () => Promise<AsyncIterable<Uint8Array>>;
  },
  signal: AbortSignal,
) => Promise<ScanVerdict>;
