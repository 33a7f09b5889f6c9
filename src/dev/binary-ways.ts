import { readdirSync, statSync } from 'node:fs';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { programName, type Way } from './binary.ts';
import { runTool } from './run-tool.ts';

const DOWNLOAD_STALL_SECONDS = 60;
/** A busy machine with two cores took 25 minutes for what else takes 2. */
const BUILD_MS = 45 * 60_000;

interface Build {
  readonly title: string;
  readonly program: string;
  readonly goPackage: string;
  readonly minutes: number;
  readonly announcement: string;
}

/** `go install`, beside the final place and then moved there, so that a build that breaks off leaves nothing half. */
export function goInstall({ title, program, goPackage, minutes, announcement }: Build): Way {
  return {
    announcement,
    name: 'The build',
    async obtain(cache, env, onProgress) {
      const draft = await mkdtemp(join(dirname(cache), `${program}-build-`));
      const file = join(draft, programName(program));
      try {
        const tick = (seconds: number) => {
          if (seconds % 10 === 0)
            onProgress(`building ${title} with Go, about ${minutes} minutes: ${seconds} s`);
          return true;
        };
        const { ok, output } = await runTool('go', ['install', goPackage], {
          timeoutMs: BUILD_MS,
          env: { ...env, GOBIN: draft },
          tick,
        });
        if (!ok) return output;
        await chmod(file, 0o755);
        await rename(file, join(cache, programName(program)));
        return output;
      } finally {
        await rm(draft, { recursive: true, force: true });
      }
    },
  };
}

interface Download {
  readonly title: string;
  /** A script that is given the cache folder and writes there `….downloading` until the program is whole. */
  readonly script: string;
  readonly announcement: string;
}

/** Our script's download; it is stopped only when nothing has arrived for a minute. */
export function download({ title, script, announcement }: Download): Way {
  return {
    announcement,
    name: 'The download',
    async obtain(cache, env, onProgress) {
      let bytes = 0;
      let grewAt = 0;
      const tick = (seconds: number) => {
        const size = partialBytes(cache);
        if (size > bytes) [bytes, grewAt] = [size, seconds];
        if (seconds > 0 && seconds % 10 === 0)
          onProgress(`downloading ${title}: ${Math.round(bytes / 1e6)} MB`);
        return seconds - grewAt < DOWNLOAD_STALL_SECONDS;
      };
      const options = { timeoutMs: 15 * 60_000, env, tick };
      return (await runTool(process.execPath, [script, cache], options)).output;
    },
  };
}

function partialBytes(cache: string): number {
  const partial = readdirSync(cache).filter((name) => name.endsWith('.downloading'));
  return partial.reduce(
    (sum, name) => sum + (statSync(join(cache, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
