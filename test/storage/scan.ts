import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ScanConfig } from '../../src/storage/index.ts';
import { createScan } from '../../src/storage/index.ts';
import type { FileScan, ScanVerdict } from '../../src/storage/types.ts';

export type ScannedFile = Parameters<FileScan>[0];

/** More than any pipe or socket holds. */
export const CONTENT = randomBytes(2_000_000);
const CHUNK_BYTES = 65_536;

export interface Source extends ScannedFile {
  /** Bytes that were asked for so far. */
  given: number;
  /** Streams that are open now. */
  open: number;
}

/** A stored file of these bytes, over and over up to `bytes`; `fail` breaks it once all of the bytes are given. */
export function source(content: Buffer, options: { bytes?: number; fail?: boolean } = {}): Source {
  const { bytes = content.length, fail = false } = options;
  const file: Source = {
    given: 0,
    open: 0,
    bytes,
    mediaType: 'video/mp4',
    async read() {
      return chunks();
    },
  };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    file.open++;
    try {
      for (let at = 0; at < bytes; at += CHUNK_BYTES) {
        const from = at % content.length;
        const chunk = content.subarray(from, from + CHUNK_BYTES);
        file.given += chunk.length;
        yield chunk;
      }
      if (fail) throw new Error('the disk is gone');
    } finally {
      file.open--;
    }
  }
  return file;
}

export interface Scanned {
  readonly verdict: ScanVerdict;
  /** What the operator is told. */
  readonly problems: readonly string[];
}

export async function scan(
  config: ScanConfig,
  file: ScannedFile,
  signal: AbortSignal = new AbortController().signal,
): Promise<Scanned> {
  const problems: string[] = [];
  const verdict = await createScan(config, (problem) => problems.push(problem))(file, signal);
  return { verdict, problems };
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-scan-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
