import { spawn } from 'node:child_process';
import { endWatch, keepWatch } from './keeper.ts';

export interface ToolResult {
  readonly ok: boolean;
  /** The last 4,000 characters of stdout and stderr. */
  readonly output: string;
}

/**
 * Runs a program to its end. `tick` is called every second with the seconds since the start; when it answers false, or
 * `timeoutMs` is over, the program is killed. Never rejects: a program that can't start is `ok: false`.
 */
export function runTool(
  command: string,
  args: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly env?: NodeJS.ProcessEnv;
    readonly tick?: (seconds: number) => boolean;
  },
): Promise<ToolResult> {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, {
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const elapsedMs = performance.now() - startedAt;
      const goOn = options.tick?.(Math.round(elapsedMs / 1_000)) ?? true;
      if (goOn && elapsedMs < options.timeoutMs) return;
      output += `\n(stopped after ${Math.round(elapsedMs / 1_000)} s)`;
      child.kill('SIGKILL');
    }, 1_000);
    const take = (chunk: string) => {
      output = (output + chunk).slice(-4_000);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.once('spawn', () => keepWatch(child.pid!, 'SIGKILL'));
    const end = (ok: boolean) => {
      clearInterval(timer);
      if (child.pid !== undefined) endWatch(child.pid);
      resolve({ ok, output: output.trim() });
    };
    child.once('error', (error) => {
      take(error.message);
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}
