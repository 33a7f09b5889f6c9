import { accessSync, constants, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { takeLock } from '../../scripts/process-lock.mjs';
import { cacheFolder } from './cache.ts';
import { waitUntil } from './child.ts';
import { runTool } from './run-tool.ts';

/** With every way tried. */
const OBTAIN_MS = 60 * 60_000;

/** Told, in one line each time, what takes long. */
export type OnProgress = (line: string) => void;

/** One way to a program that is not here yet: puts it into the cache folder. */
export interface Way {
  /** Said before it begins. */
  readonly announcement: string;
  /** What the output of a failure is called in the error: `The build`. */
  readonly name: string;
  /** @returns the output of the attempt; whether it worked is seen from what lies in the folder */
  readonly obtain: (cache: string, env: NodeJS.ProcessEnv, onProgress: OnProgress) => Promise<string>;
}

/** A server that we start from its one program file, and how to come by it. */
export interface BinarySpec {
  /** For messages: `the Temporal server`. */
  readonly title: string;
  /** What `variable` names, for messages: `the Temporal CLI`. */
  readonly file: string;
  /** The file, without the ending that Windows needs. */
  readonly program: string;
  readonly version: string;
  /** Names the file; goes before all else. */
  readonly variable: string;
  /** What `--version` says; something else may have the program's name. */
  readonly says: RegExp;
  /** The program in the cache folder, whichever way it came there. */
  readonly find: (cache: string) => string | undefined;
  /** In the order in which they are tried. */
  readonly ways: readonly Way[];
  /** What a person may do when all of them fail, a line each. */
  readonly advice: readonly string[];
}

/** With the ending that programs have on this system. */
export function programName(program: string): string {
  return process.platform === 'win32' ? `${program}.exe` : program;
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds a program, or obtains it once for this machine: its variable, the PATH, our cache, then the ways of its spec.
 * @throws Error naming every way out when none works
 */
export async function resolveBinary(
  spec: BinarySpec,
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<string> {
  const given = env[spec.variable];
  if (given !== undefined && given !== '') {
    if (isProgram(given)) return given;
    throw new Error(
      `${spec.variable} is ${given}, which is not a program: set it to ${spec.file}, or unset it.`,
    );
  }
  const cache = join(cacheFolder(env), `${spec.program}-${spec.version}`);
  return (await onPath(spec, env)) ?? spec.find(cache) ?? obtainAlone(spec, cache, env, onProgress);
}

async function onPath(spec: BinarySpec, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const path = join(folder, programName(spec.program));
    if (!isProgram(path)) continue;
    const { ok, output } = await runTool(path, ['--version'], { timeoutMs: 10_000, env });
    if (ok && spec.says.test(output)) return path;
  }
  return undefined;
}

/** One process a machine obtains it; the others wait and use the result. */
async function obtainAlone(
  spec: BinarySpec,
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<string> {
  await mkdir(cache, { recursive: true });
  const lockPath = join(cache, 'obtain.lock');
  let lock = takeLock(lockPath);
  if (!lock.taken) {
    onProgress(`waiting for process ${lock.pid}, which is obtaining ${spec.title}`);
    const isFree = () => {
      lock = takeLock(lockPath);
      return Promise.resolve(lock.taken);
    };
    await waitUntil(isFree, { timeoutMs: OBTAIN_MS, everyMs: 500 });
  }
  try {
    return spec.find(cache) ?? (await obtain(spec, cache, env, onProgress));
  } finally {
    if (lock.taken) lock.release();
  }
}

async function obtain(
  spec: BinarySpec,
  cache: string,
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<string> {
  const said: string[] = [];
  for (const { announcement, name, obtain } of spec.ways) {
    onProgress(announcement);
    said.push(`${name} said: ${lastLine(await obtain(cache, env, onProgress))}`);
    const path = spec.find(cache);
    if (path !== undefined) return path;
  }
  throw new Error(
    [
      `${spec.title.replace(/^the /, 'No ')} was found and none could be obtained. Do one of these, then start again:`,
      ...spec.advice,
      ...said,
    ].join('\n'),
  );
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('Node.js'));
  return (lines.at(-1) ?? 'nothing').slice(0, 500);
}
