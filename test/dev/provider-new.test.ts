import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, jsonOf } from '../cli/run.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What an adapter, a simulator and their contract suite are made of. */
const COPIED = [
  ...['domain', 'net', 'providers', 'simulators', 'storage'].map((folder) => `src/${folder}`),
  'test/providers',
  'test/simulators',
  'package.json',
  'tsconfig.json',
  '.oxfmtrc.json',
  '.oxlintrc.json',
];
const LISTS = ['src/providers/index.ts', 'src/simulators/index.ts'];
/** One of each kind; a short and a long name, since lines are broken by their length. */
const MADE = { signed: 'ab', unsigned: 'zanzibarstudios2', none: 'quickmedia' };
const LIMIT_MS = 300_000;

const darkroom = commandsOn({ databaseUrl: () => 'postgresql://nobody@127.0.0.1:1/none' });
let checkout: string;

/** A tool of the project in the copy: its output when it fails, else ''. */
async function complaints(name: string, command: string, ...args: string[]): Promise<string> {
  const folder = join(ROOT, 'node_modules', name);
  const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    bin: Readonly<Record<string, string>>;
  };
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST')));
  return new Promise((done) => {
    const script = join(folder, bin[command] ?? '');
    execFile(
      process.execPath,
      [script, ...args],
      { cwd: checkout, env: { ...env, NODE_ENV: '' }, timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) =>
        done(error === null ? '' : `${name} ended with ${error.code}\n${stdout}\n${stderr}`),
    );
  });
}

/** All files in the copy's sources. */
async function files(): Promise<readonly string[]> {
  const inside = ['src', 'test'].map(async (folder) =>
    (await readdir(join(checkout, folder), { recursive: true })).map((path) => `${folder}/${path}`),
  );
  return (await Promise.all(inside)).flat().toSorted();
}
const create = (name: string, ...options: string[]) =>
  darkroom('provider', 'new', name, '--checkout', checkout, ...options);

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'darkroom-new-provider-'));
  await Promise.all(COPIED.map((path) => cp(join(ROOT, path), join(checkout, path), { recursive: true })));
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'), 'junction');
});
afterAll(() => rm(checkout, { recursive: true, force: true }));

describe('darkroom provider new', () => {
  it('--dry-run says what it would write, and writes nothing', async () => {
    const before = await files();
    const ran = await create('tidal', '--dry-run');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toContain('src/providers/tidal-callback.ts');
    expect(await files()).toEqual(before);
    for (const list of LISTS) {
      expect(await readFile(join(checkout, list), 'utf8')).toBe(await readFile(join(ROOT, list), 'utf8'));
    }
  });

  it.each([
    ['Tidal', 'lower-case letters and digits'],
    ['tidal-wave', 'lower-case letters and digits'],
    ['1tidal', 'lower-case letters and digits'],
    ['../tidal', 'lower-case letters and digits'],
    ['infro', 'There is a provider "infro"'],
    ['delete', 'a word of the language'],
    ['observed', "new files' own code"],
  ])('the name %s is wrong use', async (name, why) => {
    const before = await files();
    expect(await create(name)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) as string });
    expect(await files()).toEqual(before);
  });

  it('writes over nothing, and only into a checkout', async () => {
    const before = await files();
    const ran = await create('definition');
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('src/providers/definition.ts') as string,
    });
    expect(await files()).toEqual(before);
    const elsewhere = await darkroom('provider', 'new', 'tidal', '--checkout', join(checkout, 'src'));
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('--checkout') as string });
    expect(await create('tidal', '--callbacks', 'sometimes')).toMatchObject({ code: 2 });
  });

  it(
    'what it makes is formatted, linted, typed, and passes its contract suite at once',
    async () => {
      for (const [kind, name] of Object.entries(MADE)) {
        const told = jsonOf(await create(name, '--callbacks', kind, '--json')) as {
          made: string[];
          places: { path: string; line: number; what: string }[];
        };
        expect(told.made.filter((path) => path.endsWith('-callback.ts'))).toHaveLength(
          kind === 'none' ? 0 : 1,
        );
        for (const { path, line, what } of told.places) {
          const lines = (await readFile(join(checkout, path), 'utf8')).split('\n');
          expect(lines[line - 1]).toContain(`[change] ${what}`);
        }
        const texts = await Promise.all(told.made.map((path) => readFile(join(checkout, path), 'utf8')));
        expect(texts.join('\n').split('[change]')).toHaveLength(told.places.length + 1);
        expect(texts.join('\n')).not.toMatch(/tidewater|\/\/ [[<](?!change)|TODO/i);
      }
      const names = Object.values(MADE);
      const made = ['src/providers', 'src/simulators', 'test/providers'].flatMap((folder) =>
        names.map((name) => `${folder}/${name}*.ts`),
      );
      const paths = (await files()).filter((path) => names.some((name) => path.includes(`/${name}`)));
      await writeFile(
        join(checkout, 'tsconfig.new.json'),
        JSON.stringify({ extends: './tsconfig.json', include: [...LISTS, ...made] }),
      );
      await writeFile(
        join(checkout, 'vitest.new.config.ts'),
        `export default { test: { include: ['test/providers/{${names.join(',')}}.test.ts'], testTimeout: 120_000, hookTimeout: 120_000, isolate: false } };`,
      );
      const found = await Promise.all([
        complaints('typescript', 'tsc', '--noEmit', '-p', 'tsconfig.new.json'),
        complaints('oxfmt', 'oxfmt', '--check', ...LISTS, ...paths),
        complaints('oxlint', 'oxlint', '--deny-warnings', ...LISTS, ...paths),
        complaints('vitest', 'vitest', 'run', '--config', 'vitest.new.config.ts'),
      ]);
      expect(found).toEqual(['', '', '', '']);
    },
    LIMIT_MS + 60_000,
  );
});

it('no adapter of the project has a place left that the command marked', async () => {
  const folders = ['src/providers', 'src/simulators', 'test/providers'];
  const marked: string[] = [];
  for (const folder of folders) {
    for (const entry of await readdir(join(ROOT, folder), { withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = await readFile(join(ROOT, folder, entry.name), 'utf8');
      if (/^\s*(\/\/| \*) \[change\] /m.test(text)) marked.push(`${folder}/${entry.name}`);
    }
  }
  expect(marked).toEqual([]);
});
