import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../src/dev/cache.ts';
import { runTool } from '../../src/dev/run-tool.ts';

const VERSION = '4.32.5';
const INSTALL_MS = 600_000;
const ASK_MS = 120_000;
const WINDOWS = process.platform === 'win32';

/**
 * The schemathesis to run: that of SCHEMATHESIS, else ours in the cache folder, installed at the first run.
 * @throws Error saying what is missing and what to do
 */
export async function resolveSchemathesis(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<string> {
  const named = env['SCHEMATHESIS'] ?? '';
  const found = named === '' ? await install(env, say) : named;
  const asked = await runTool(found, ['--version'], { timeoutMs: ASK_MS, env });
  if (asked.ok) {
    say(`${found}: ${asked.output}`);
    return found;
  }
  const advice =
    named === ''
      ? `Remove ${environmentFolder(env)} and run it again.`
      : 'SCHEMATHESIS names it: give the path of an st program, or unset it to have one installed.';
  throw new Error(`${found} does not run. ${advice}\n${asked.output}`);
}

function environmentFolder(env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), `schemathesis-${VERSION}`);
}

/** The programs of a Python environment. */
function programs(folder: string): string {
  return join(folder, WINDOWS ? 'Scripts' : 'bin');
}

async function install(env: NodeJS.ProcessEnv, say: (line: string) => void): Promise<string> {
  const folder = environmentFolder(env);
  const done = join(folder, 'installed');
  const program = join(programs(folder), WINDOWS ? 'st.exe' : 'st');
  if (existsSync(done)) return program;
  say(`installing schemathesis ${VERSION} into ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cacheFolder(env), { recursive: true });
  const python = WINDOWS ? 'python' : 'python3';
  const made = await runTool(python, ['-m', 'venv', folder], { timeoutMs: INSTALL_MS, env });
  if (!made.ok) {
    throw new Error(
      `${python} -m venv failed: install Python 3.10 or newer with its venv module (Debian: apt install python3-venv), ` +
        `or set SCHEMATHESIS to an st program of schemathesis ${VERSION}.\n${made.output}`,
    );
  }
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`];
  const installed = await runTool(join(programs(folder), 'python'), pip, { timeoutMs: INSTALL_MS, env });
  if (!installed.ok) {
    throw new Error(
      `pip could not install schemathesis ${VERSION}: make a package index reachable (PIP_INDEX_URL, or a proxy), ` +
        `or set SCHEMATHESIS to an st program of that version.\n${installed.output}`,
    );
  }
  // Last of all: an installation that was cut off has no such file and is made anew.
  writeFileSync(done, '');
  return program;
}
