import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endWatch, keepWatch } from '../../src/dev/keeper.ts';
import { within } from './progress.ts';

const LIMIT_MS = 60_000;

export interface PlainProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The first message that it sent: what it listens on. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a script as a process of its own that says `{url}` when it listens; TypeScript goes by tsx. */
export async function startPlain(
  script: URL,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<PlainProcess> {
  const child = fork(fileURLToPath(script), args, {
    execArgv: script.pathname.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : [],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const pid = child.pid ?? 0;
  keepWatch(pid, 'SIGKILL');
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      endWatch(pid);
      resolve();
    });
  });
  const listens = new Promise<string>((resolve, reject) => {
    child.once('message', (message: { url: string }) => resolve(message.url));
    child.once('exit', () => reject(new Error(`${script.pathname} did not start`)));
  });
  const url = await within(`the start of ${script.pathname}`, LIMIT_MS, listens);
  return {
    child,
    pid,
    url,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
