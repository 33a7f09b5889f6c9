/** One attempt at storing one output: bytes are invisible until `commit`. */
export interface PendingFile {
  write(chunk: Uint8Array): Promise<void>;
  /** fsync, rename into place, fsync of the folder; returns what was stored. */
  commit(): Promise<{ readonly path: string; readonly bytes: number; readonly sha256: string }>;
  /** Removes the temporary file; safe to call at any time. */
  discard(): Promise<void>;
}

/** Where outputs live. Paths are keys made from our own ids only, never from a provider's file name. */
export interface Storage {
  /** `path` is unique per attempt: `<generation id>/<index>-<attempt>`; anything else is refused. */
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
  /** For people: the place of a file as they would open it (a local path here). */
  locate(path: string): string;
}
