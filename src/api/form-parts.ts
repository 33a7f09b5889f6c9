/**
 * Counts the parts of a `multipart/form-data` body by its delimiters (RFC 2046 §5.1.1), since a parser passes over a part
 * whose headers it can't read without a word, and a field that was sent would be missing.
 */
export class PartCounter {
  readonly #delimiter: Buffer;
  /** What has come and may be the beginning of a delimiter; the first one needs no line before it. */
  #tail: Buffer = Buffer.from('\r\n');
  #parts = 0;
  #closed = false;

  /** @param contentType the header; without a boundary nothing is ever found */
  constructor(contentType: string | undefined) {
    const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType ?? '') ?? [];
    this.#delimiter = Buffer.from(`\r\n--${quoted ?? plain ?? ''}`, 'latin1');
  }

  get parts(): number {
    return this.#parts;
  }

  take(chunk: Uint8Array): void {
    if (this.#closed) return;
    const bytes = Buffer.concat([this.#tail, chunk]);
    // With the two bytes behind it: `--` closes the form.
    const whole = this.#delimiter.length + 2;
    let from = 0;
    for (;;) {
      const at = bytes.indexOf(this.#delimiter, from);
      if (at === -1 || at + whole > bytes.length) {
        this.#tail = bytes.subarray(at === -1 ? Math.max(from, bytes.length - whole) : at);
        return;
      }
      if (bytes.toString('latin1', at + whole - 2, at + whole) === '--') {
        this.#closed = true;
        return;
      }
      this.#parts += 1;
      from = at + this.#delimiter.length;
    }
  }
}
