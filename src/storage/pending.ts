import { createHash } from 'node:crypto';
import type { StorageError } from './failures.ts';
import type { PendingFile } from './types.ts';

/** Where one driver puts the bytes of one file. */
export interface Sink {
  write(chunk: Uint8Array): Promise<void>;
  /** Shows the whole, durable file under its path, or fails without replacing what is there. `sha256` in hex. */
  publish(sha256: string): Promise<void>;
  /** Removes what is not the file itself; may be called again, also while `write` runs. */
  clean(): Promise<void>;
}

/** A file that is open, then committed or discarded; any failure leaves nothing behind and is told in `explain`'s words. */
export function createPendingFile(
  path: string,
  sink: Sink,
  explain: (error: unknown) => StorageError,
): PendingFile {
  const hash = createHash('sha256');
  let bytes = 0;
  let state: 'open' | 'committed' | 'discarded' = 'open';

  const assertOpen = (): void => {
    if (state !== 'open') throw new Error(`the file is already ${state}: create a new one for a new attempt`);
  };
  const orClean = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      state = 'discarded';
      await sink.clean();
      throw explain(error);
    }
  };

  return {
    async write(chunk) {
      assertOpen();
      await orClean(() => {
        const written = sink.write(chunk);
        // While the disk writes, or the store receives.
        hash.update(chunk);
        return written;
      });
      bytes += chunk.length;
    },
    async commit() {
      assertOpen();
      state = 'committed';
      const sha256 = hash.digest('hex');
      await orClean(() => sink.publish(sha256));
      // It stands: what is left beside it is removed by a later check().
      await sink.clean().catch(() => {});
      return { path, bytes, sha256 };
    },
    async discard() {
      if (state !== 'open') return;
      state = 'discarded';
      await sink.clean();
    },
  };
}
