// Copies of the checkout in which a seeded bug is planted and the tests that must find it are run.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MutantRun } from './mutant-verdict.mjs';

const COPIED = [
  'src',
  'prisma',
  'test',
  'scripts',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'vitest.config.ts',
  'prisma.config.ts',
];
const FUNCTIONS = 'prisma/functions/';
/** After every migration there will be. */
const MIGRATION = 'prisma/migrations/99991231235959_mutant/migration.sql';
/** Tests of the domain need no servers. */
const WITHOUT_SERVERS = `export default { test: { include: ['test/domain/**/*.test.ts'] } };\n`;
/** One of the tests starts a whole Darkroom, and the machine may be busy. */
const LIMIT_MS = 600_000;

export class MutantCopies {
  #root;
  #folder = '';
  #count = 0;
  #running = new Set();

  /** @param {string} root the checkout */
  constructor(root) {
    this.#root = root;
  }

  /** What is wrong with the places of a mutant: each text must stand in its file exactly once. */
  misplaced({ id, patches }) {
    return patches.flatMap(({ file, find, replace }) => {
      const count = readFileSync(join(this.#root, file), 'utf8').split(find).length - 1;
      if (count !== 1) return [`${id}: its text is found ${count} times in ${file}, not once: ${find}`];
      return find === replace ? [`${id}: changes nothing in ${file}`] : [];
    });
  }

  /** Runs these tests, with the mutant planted (null = as it is), in a copy of its own. */
  async run(mutant, tests) {
    const folder = this.#copy();
    if (mutant !== null) plant(folder, mutant);
    const report = join(folder, 'report.json');
    const names = [...new Set(tests.map(({ test }) => escaped(test)))].join('|');
    const files = [...new Set(tests.map(({ file }) => file))];
    if (files.every((file) => file.startsWith('test/domain/'))) {
      writeFileSync(join(folder, 'vitest.config.ts'), WITHOUT_SERVERS);
    }
    const output = await this.#vitest(folder, [
      'run',
      ...files,
      '-t',
      `^(?:${names})$`,
      `--outputFile=${report}`,
    ]);
    const run = new MutantRun(report, output);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return run;
  }

  /** Ends what still runs and removes every copy. */
  remove() {
    for (const child of this.#running) child.kill('SIGTERM');
    if (this.#folder !== '') rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
    this.#folder = '';
  }

  /** A copy of the checkout as it was at the first of them, so that work in it meanwhile disturbs none. */
  #copy() {
    if (this.#folder === '') {
      this.#folder = mkdtempSync(join(tmpdir(), 'darkroom-mutants-'));
      copyAll(this.#root, join(this.#folder, '0'));
    }
    this.#count += 1;
    const folder = join(this.#folder, String(this.#count));
    copyAll(join(this.#folder, '0'), folder);
    symlinkSync(join(this.#root, 'node_modules'), join(folder, 'node_modules'), 'junction');
    return folder;
  }

  #vitest(folder, args) {
    const script = join(folder, 'node_modules', 'vitest', 'vitest.mjs');
    return new Promise((resolve) => {
      const chunks = [];
      const child = spawn(process.execPath, [script, ...args, '--reporter=json'], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: LIMIT_MS,
        windowsHide: true,
      });
      this.#running.add(child);
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
      child.once('error', (error) => chunks.push(Buffer.from(error.message)));
      child.once('close', () => {
        this.#running.delete(child);
        resolve(Buffer.concat(chunks).toString('utf8'));
      });
    });
  }
}

function copyAll(from, to) {
  for (const name of COPIED) cpSync(join(from, name), join(to, name), { recursive: true });
}

/** Changed functions reach the database by a migration of their own, whichever older migration holds their text. */
function plant(folder, { patches }) {
  for (const { file, find, replace } of patches) {
    const path = join(folder, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(find, () => replace),
    );
  }
  const functions = new Set(patches.map(({ file }) => file).filter((file) => file.startsWith(FUNCTIONS)));
  if (functions.size === 0) return;
  const path = join(folder, MIGRATION);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, [...functions].map((file) => readFileSync(join(folder, file), 'utf8')).join('\n'));
}

/** The name of a test, its groups before it joined by " > ", as vitest matches it: joined by a space. */
function escaped(name) {
  return name.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
