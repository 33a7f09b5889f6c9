// npm run stryker: mutation tests of pricing, states and the ledger's wrappers; exits 1 below 85 %. Not part of CI: takes minutes.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareOrExit } from './prepare.mjs';
import { ROOT, run } from './tools.mjs';

/** The last version for Node 20. It would add a hundred packages to every install, so it is fetched for its own run only. */
const VERSION = '9.6.1';
const FOLDER = join(ROOT, 'node_modules', '.cache', `stryker-${VERSION}`);

/** The programs of both packages; vitest itself is the one of the checkout, which Node finds from inside node_modules. */
async function installStryker() {
  if (existsSync(join(FOLDER, 'installed'))) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{"private":true}');
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`);
  const npm = process.env['npm_execpath'];
  const args = ['install', '--prefix', FOLDER, '--legacy-peer-deps', '--no-audit', '--no-fund', ...packages];
  const { ok, output } =
    npm === undefined ? await run('npm', args) : await run(process.execPath, [npm, ...args]);
  if (!ok) throw new Error(`Stryker ${VERSION} could not be installed: ${output}`);
  writeFileSync(join(FOLDER, 'installed'), '');
}

await prepareOrExit();
await installStryker();
const programs = join(FOLDER, 'node_modules', '@stryker-mutator');
const child = spawn(
  process.execPath,
  [
    join(programs, 'core', 'bin', 'stryker.js'),
    'run',
    '--plugins',
    join(programs, 'vitest-runner', 'dist', 'src', 'index.js'),
    ...process.argv.slice(2),
  ],
  { cwd: ROOT, stdio: 'inherit', windowsHide: true },
);
child.once('close', (code) => {
  process.exitCode = code ?? 1;
});
