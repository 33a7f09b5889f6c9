import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, '.test-build');
const STALE_MS = 6 * 3_600_000;
const run = promisify(execFile);

/**
 * Compiles src once for a whole run, so that each process under test starts in half the time that a compiler inside it
 * takes. Types are not checked here: that is the business of `npm run verify`.
 * @returns the folder that stands for src
 */
export async function buildPrograms(): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  await removeStale();
  // What the programs find beside src.
  for (const name of ['prisma', 'package.json', 'scripts']) {
    await symlink(join('..', name), join(FOLDER, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  const folder = await mkdtemp(join(FOLDER, 'src-'));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--sourceMap', 'false', '--outDir', folder];
  await run(process.execPath, [tsc, ...options], { cwd: ROOT, timeout: 400_000 });
  return folder;
}

/** What runs that were killed have left. */
async function removeStale(): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    const path = join(FOLDER, name);
    const facts = await stat(path).catch(() => null);
    if (name.startsWith('src-') && facts !== null && Date.now() - facts.mtimeMs > STALE_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
