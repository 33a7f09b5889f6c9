import { createHash } from 'node:crypto';

const SAMPLES_PER_SECOND = 8_000;
const MAX_SECONDS = 60;
const HEADER_BYTES = 44;

/** A whole WAV file (16-bit PCM, mono, 8 kHz) of `seconds` length: a tone whose pitch follows from `seed`. */
export function makeWav(seed: string, seconds: number): Buffer {
  const count = Math.min(MAX_SECONDS, Math.max(1, Math.round(seconds))) * SAMPLES_PER_SECOND;
  const hash = createHash('sha512').update(seed).digest();
  const hertz = 200 + (hash.readUInt16BE(0) % 800);
  const file = Buffer.alloc(HEADER_BYTES + count * 2);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20); // PCM
  file.writeUInt16LE(1, 22); // channels
  file.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  file.writeUInt32LE(SAMPLES_PER_SECOND * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(count * 2, 40);
  for (let sample = 0; sample < count; sample++) {
    const wave = Math.sin((2 * Math.PI * hertz * sample) / SAMPLES_PER_SECOND);
    // The lowest bits differ by seed too, so that two jobs of one pitch still differ.
    const noise = hash[sample % hash.length]! & 7;
    file.writeInt16LE(Math.round(wave * 8_000) + noise, HEADER_BYTES + sample * 2);
  }
  return file;
}
