import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeLock } from '../../scripts/process-lock.mjs';
import { cacheFolder } from './cache.ts';
import { waitUntil } from './child.ts';
import { runTool } from './run-tool.ts';

/** The newest release that `go install` builds: later ones carry replace directives. Server 1.28, Web UI 2.39. */
const CLI_VERSION = '1.4.1';
const GO_PACKAGE = `github.com/temporalio/cli/cmd/temporal@v${CLI_VERSION}`;
const PROGRAM = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
const DOWNLOADER = fileURLToPath(new URL('../../scripts/download-temporal.mjs', import.meta.url));
const DOWNLOAD_STALL_SECONDS = 60;

export type TemporalSource =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'binary'; readonly path: string };

/**
 * Finds a Temporal server, or obtains one: TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH, `temporal` on PATH, our cached build,
 * the SDK's download, `go install`.
 * @param onProgress told, in one line each time, what takes long
 * @throws Error naming every way out when none works
 */
export async function resolveTemporal(
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<TemporalSource> {
  const address = env['TEMPORAL_ADDRESS'];
  if (address !== undefined && address !== '') return { kind: 'address', address };
  const given = env['TEMPORAL_CLI_PATH'];
  if (given !== undefined && given !== '') {
    if (isProgram(given)) return { kind: 'binary', path: given };
    throw new Error(
      `TEMPORAL_CLI_PATH is ${given}, which is not a program: set it to the Temporal CLI, or unset it.`,
    );
  }
  const cache = join(cacheFolder(env), `temporal-${CLI_VERSION}`);
  const built = join(cache, PROGRAM);
  const path = (await onPath(env)) ?? (isProgram(built) ? built : undefined) ?? downloaded(cache);
  if (path !== undefined) return { kind: 'binary', path };
  return { kind: 'binary', path: await obtainAlone(cache, env, onProgress) };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

async function onPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const path = join(folder, PROGRAM);
    if (!isProgram(path)) continue;
    // Something else may have that name: the CLI answers with its server's version.
    const { ok, output } = await runTool(path, ['--version'], { timeoutMs: 10_000, env });
    if (ok && /temporal/i.test(output)) return path;
  }
  return undefined;
}

/** What the SDK downloaded into our cache earlier; a file still being written has another ending. */
function downloaded(cache: string): string | undefined {
  let names: string[] = [];
  try {
    names = readdirSync(cache);
  } catch {
    return undefined;
  }
  const name = names.find((file) => /^temporal-.*sdk-typescript-[\d.]+(\.exe)?$/.test(file));
  return name === undefined || !isProgram(join(cache, name)) ? undefined : join(cache, name);
}

/** One process a machine obtains it; the others wait and use the result. */
async function obtainAlone(
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<string> {
  await mkdir(cache, { recursive: true });
  const lockPath = join(cache, 'obtain.lock');
  let lock = takeLock(lockPath);
  if (!lock.taken) {
    onProgress(`waiting for process ${lock.pid}, which is obtaining the Temporal server`);
    const isFree = () => {
      lock = takeLock(lockPath);
      return Promise.resolve(lock.taken);
    };
    await waitUntil(isFree, { timeoutMs: 20 * 60_000, everyMs: 500 });
  }
  try {
    const built = join(cache, PROGRAM);
    const found = isProgram(built) ? built : downloaded(cache);
    if (found !== undefined) return found;
    return await obtain(cache, env, onProgress);
  } finally {
    if (lock.taken) lock.release();
  }
}

async function obtain(
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<string> {
  onProgress('downloading the Temporal server (once for this machine)');
  const download = await sdkDownload(cache, env, onProgress);
  const path = downloaded(cache);
  if (path !== undefined) return path;
  onProgress('the download is not possible here; trying to build the Temporal server with Go');
  const build = await goInstall(cache, env, onProgress);
  if (build === undefined) return join(cache, PROGRAM);
  throw new Error(
    [
      'No Temporal server was found and none could be obtained. Do one of these, then start again:',
      '- set TEMPORAL_ADDRESS to a server that runs (host:port);',
      '- install the Temporal CLI (https://docs.temporal.io/cli), so that "temporal" is on the PATH;',
      '- set TEMPORAL_CLI_PATH to the Temporal CLI;',
      `- install Go (https://go.dev/dl), or run: go install ${GO_PACKAGE};`,
      '- allow the download from temporal.download.',
      `The download said: ${lastLine(download)}`,
      `The build said: ${lastLine(build)}`,
    ].join('\n'),
  );
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('Node.js'));
  return (lines.at(-1) ?? 'nothing').slice(0, 500);
}

/** @returns the output of the attempt. It is stopped only when nothing has arrived for a minute. */
async function sdkDownload(
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<string> {
  let bytes = 0;
  let grewAt = 0;
  const tick = (seconds: number) => {
    const size = partialBytes(cache);
    if (size > bytes) [bytes, grewAt] = [size, seconds];
    if (seconds > 0 && seconds % 10 === 0)
      onProgress(`downloading the Temporal server: ${Math.round(bytes / 1e6)} MB`);
    return seconds - grewAt < DOWNLOAD_STALL_SECONDS;
  };
  const { output } = await runTool(process.execPath, [DOWNLOADER, cache], {
    timeoutMs: 15 * 60_000,
    env,
    tick,
  });
  return output;
}

function partialBytes(cache: string): number {
  const partial = readdirSync(cache).filter((name) => name.endsWith('.downloading'));
  return partial.reduce(
    (sum, name) => sum + (statSync(join(cache, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Builds beside the final place and moves it there. @returns undefined when it worked, else the output. */
async function goInstall(
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<string | undefined> {
  const draft = await mkdtemp(join(dirname(cache), 'temporal-build-'));
  try {
    const tick = (seconds: number) => {
      if (seconds % 10 === 0)
        onProgress(`building the Temporal server with Go, about 3 minutes: ${seconds} s`);
      return true;
    };
    const { ok, output } = await runTool('go', ['install', GO_PACKAGE], {
      timeoutMs: 20 * 60_000,
      env: { ...env, GOBIN: draft },
      tick,
    });
    if (!ok) return output;
    await chmod(join(draft, PROGRAM), 0o755);
    await rename(join(draft, PROGRAM), join(cache, PROGRAM));
    return undefined;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
