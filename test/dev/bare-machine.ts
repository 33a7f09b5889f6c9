import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';

/** A machine with nothing on it, for each test of a file: empty PATH, own home and cache, no way to download. */
export function useBareMachine(purpose: string) {
  let folder: ReturnType<typeof temporaryFolder>;
  let lines: string[];
  beforeEach(() => {
    folder = temporaryFolder(purpose);
    lines = [];
  });
  afterEach(() => folder.remove());
  const path = (place: string) => join(folder.path, place);

  return {
    path,
    /** What `say` was told. */
    lines: () => lines,
    say: (line: string) => lines.push(line),
    /** Puts a shell script into `<folder>/<place>/`, which is made. */
    script: (place: string, name: string, body: string): string => {
      mkdirSync(path(place), { recursive: true });
      writeFileSync(path(join(place, name)), `#!/bin/sh\n${body}\n`);
      chmodSync(path(join(place, name)), 0o755);
      return path(join(place, name));
    },
    environment: (extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
      PATH: path('bin'),
      HOME: folder.path,
      XDG_CACHE_HOME: path('cache'),
      HTTPS_PROXY: 'http://127.0.0.1:1',
      ...extra,
    }),
  };
}
