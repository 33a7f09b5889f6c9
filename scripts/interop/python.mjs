// Python libraries for scripts/interop.mjs, each in a virtual environment of its own in the user's cache folder.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../tools.mjs';

const LIMIT_MS = 300_000;

/**
 * The Python of a virtual environment that has this library; installed at the first call.
 * @param {string} cache the user's cache folder of Darkroom
 * @param {string} library with its version, for example luma-agents==0.5.0
 */
export async function pythonWith(cache, library) {
  const folder = join(cache, 'interop', library);
  const pythonOf = (venv) =>
    process.platform === 'win32' ? join(venv, 'Scripts', 'python.exe') : join(venv, 'bin', 'python');
  if (existsSync(pythonOf(folder))) return pythonOf(folder);
  const python = await firstPython();
  process.stdout.write(`installing ${library} into ${folder}\n`);
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(join(dirname(folder), 'new-'));
  try {
    // The programs of a virtual environment know their folder, so only its Python is used, which does not.
    await runPython(python, ['-m', 'venv', fresh]);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', library];
    await runPython(pythonOf(fresh), install);
    if (!existsSync(folder)) renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return pythonOf(folder);
}

async function firstPython() {
  for (const name of [process.env.PYTHON, 'python3', 'python']) {
    if (!name) continue;
    const found = await runPython(name, ['-c', 'import venv']).catch(() => null);
    if (found !== null) return name;
  }
  throw new Error('Python 3 with its venv module was not found: install it, or name it in PYTHON.');
}

/**
 * Runs Python and keeps what it prints; this process goes on meanwhile, so it may serve what Python asks for.
 * @param {string} python
 * @param {string[]} args
 * @param {string} [input] its standard input
 * @returns {Promise<string>}
 */
export function runPython(python, args, input = '') {
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 };
    const child = execFile(python, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${python} ${args.slice(0, 3).join(' ')} failed:\n${stderr || error.message}`));
    });
    // A program that ended without reading is told by its exit.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}
