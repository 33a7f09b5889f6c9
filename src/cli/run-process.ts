import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** `darkroom api`: one API process. */
export function apiCommand(): Command {
  return processCommand('api', 'run the API with the settings of the environment', () => program('api'));
}

/** `darkroom worker`: one worker process. */
export function workerCommand(): Command {
  return processCommand('worker', 'run a worker with the settings of the environment', () =>
    program('worker'),
  );
}

/** `darkroom dev`: the stack of `npm start`. */
export function devCommand(): Command {
  return processCommand('dev', 'run the whole stack on this machine, as "npm start" does', () => [
    join(ROOT, 'scripts/start.mjs'),
  ]).argument('[options...]', 'those of "npm start", after --: --fresh, --exit, --json');
}

function processCommand(name: string, description: string, command: () => readonly string[]): Command {
  return new Command(name)
    .description(`${description}; its exit code is the answer`)
    .action(async (options: readonly string[] | object) => {
      const args = Array.isArray(options) ? (options as string[]) : [];
      const code = await runProcess([...command(), ...args]);
      if (code !== 0) throw new CommanderError(code, 'commander.error', '');
    });
}

/** In the form in which this command runs itself: what was compiled beside what was compiled, else the source. */
function program(name: 'api' | 'worker'): readonly string[] {
  const built = fileURLToPath(new URL(`../${name}/main.js`, import.meta.url));
  if (existsSync(built)) return [built];
  return [
    '--import',
    import.meta.resolve('tsx'),
    fileURLToPath(new URL(`../${name}/main.ts`, import.meta.url)),
  ];
}

/**
 * Runs Node with these arguments and passes signals on. In a process group of its own, so that the Ctrl-C of a terminal
 * comes once: a second one would cut short what the first one lets finish.
 * @returns its exit code; 128 and the signal's number when one ended it
 */
export function runProcess(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], { stdio: 'inherit', detached: true });
    const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
    for (const signal of PASSED_ON) process.on(signal, passOn);
    const over = (): void => {
      for (const signal of PASSED_ON) process.off(signal, passOn);
    };
    child.once('error', (error) => {
      over();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      over();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
