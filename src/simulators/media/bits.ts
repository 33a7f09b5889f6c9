/** Writes the bit strings of H.264 (ITU-T H.264 §7.2, §9.1): fixed widths and Exp-Golomb codes. */
export class BitWriter {
  readonly #bytes: number[] = [];
  #current = 0;
  #used = 0;

  /** The lowest `width` bits of `value`, highest first. */
  fixed(value: number, width: number): void {
    for (let bit = width - 1; bit >= 0; bit--) {
      this.#current = (this.#current << 1) | ((value >> bit) & 1);
      this.#used++;
      if (this.#used === 8) this.#flush();
    }
  }

  /** ue(v). */
  unsigned(value: number): void {
    const width = Math.floor(Math.log2(value + 1));
    this.fixed(0, width);
    this.fixed(value + 1, width + 1);
  }

  /** Zero bits up to the next byte. */
  align(): void {
    while (this.#used > 0) this.fixed(0, 1);
  }

  /** Whole bytes; only at a byte boundary. */
  bytes(bytes: Uint8Array): void {
    for (const byte of bytes) this.#bytes.push(byte);
  }

  /** Stop bit and padding (rbsp_trailing_bits), then all bytes. */
  finish(): Uint8Array {
    this.fixed(1, 1);
    this.align();
    return Uint8Array.from(this.#bytes);
  }

  #flush(): void {
    this.#bytes.push(this.#current);
    this.#current = 0;
    this.#used = 0;
  }
}
