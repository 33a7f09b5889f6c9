import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout this script lies in. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The script behind a command of an installed package, to be run with node: the same on every platform.
 * @param {string} packageName
 * @param {string} command
 */
export function commandScript(packageName, command) {
  const folder = join(ROOT, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[command]);
}

/**
 * Runs a program in the checkout and keeps its output.
 * @param {string} program
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env] added to the environment
 * @returns {Promise<{ ok: boolean, output: string }>} never rejects
 */
export function run(program, args, env = {}) {
  return new Promise((resolve) => {
    const chunks = [];
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.once('error', (error) => chunks.push(Buffer.from(`${error.message}\n`)));
    child.once('close', (code) =>
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString('utf8').trim() }),
    );
  });
}
