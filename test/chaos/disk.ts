import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SIZE = '512m';

/** Where outputs are stored, and how it is made full. */
export interface Disk {
  readonly path: string;
  /** See `Slot`; null = it is a disk of its own, really filled. */
  readonly marker: string | null;
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** A small disk in memory where we may mount one (root on Linux), else a folder whose writes can be made to fail. */
export async function openDisk(dataDir: string): Promise<Disk> {
  const path = join(dataDir, 'outputs');
  mkdirSync(path, { recursive: true });
  const filler = join(path, 'filler');
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'darkroom-chaos', path]).then(
    () => true,
    () => false,
  );
  if (!mounted) {
    const marker = join(dataDir, 'disk-full');
    return {
      path,
      marker,
      fill: () => writeFile(marker, ''),
      free: () => rm(marker, { force: true }),
      remove: () => rm(marker, { force: true }),
    };
  }
  return {
    path,
    marker: null,
    async fill() {
      // What is stored meanwhile takes from what was free: then a little less is left to fill.
      for (let tried = 1; ; tried += 1) {
        const { bavail, bsize } = await statfs(path);
        const full = await run('fallocate', ['-l', String(bavail * bsize), filler]).catch(
          (error: unknown) => error,
        );
        if (!(full instanceof Error)) return;
        if (tried === 5) throw full;
      }
    },
    free: () => rm(filler, { force: true }),
    async remove() {
      await run('umount', ['-l', path]).catch(() => {});
    },
  };
}
