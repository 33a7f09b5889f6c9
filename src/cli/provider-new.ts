import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Command, Option } from 'commander';
import { PROVIDERS } from '../providers/index.ts';
import { show, table } from './context.ts';
import {
  CALLBACK_KINDS,
  nameProblem,
  placesIn,
  renderProvider,
  TEMPLATE_FILES,
  withEntry,
  type CallbackKind,
  type NewFile,
} from './provider-template.ts';

const FORMAT_MS = 60_000;

/** The two lists that know every provider. */
const LISTS = [
  { path: 'src/providers/index.ts', list: 'PROVIDERS', entry: (name: string) => name },
  { path: 'src/simulators/index.ts', list: 'SIMULATORS', entry: (name: string) => `${name}Simulator` },
];

interface NewOptions {
  readonly callbacks: CallbackKind;
  readonly checkout: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `darkroom provider new`: adapter, simulator and contract tests of one more provider, which pass at once. */
export function providerNewCommand(): Command {
  return new Command('new')
    .description(
      'write the adapter, simulator and contract tests of one more provider, to be changed from there',
    )
    .argument('<name>', 'lower-case letters and digits: it becomes part of PROVIDER_<NAME>_API_KEY')
    .addOption(
      new Option(
        '--callbacks <kind>',
        'what vouches for its callbacks: a signature, only our URL, or none are sent',
      )
        .choices(CALLBACK_KINDS)
        .default('signed'),
    )
    .option('--checkout <folder>', "the checkout of Darkroom's source to write into", '.')
    .option('--dry-run', 'say what would be written, and write nothing')
    .option('--json', 'one JSON object on standard output')
    .action(newProvider);
}

/** What further lines a provider needs, which only its author can word. */
function nextSteps(name: string): readonly string[] {
  return [
    `npx vitest run test/providers/${name}: its contract suite, which passes now; keep it so while you change the places above`,
    `test/support/provider-models.ts: a row in PROVIDER_ROWS`,
    `test/e2e/providers-and-methods.test.ts: '${name}' in the list of providersEndToEnd`,
    `test/activities/fetch-output-credentials.test.ts: from where its files are fetched with its key, mostly nowhere`,
    `src/domain/default-catalogue.ts: a model with a route to ${name}, or one in your CATALOGUE_FILE`,
    'npm run docs:providers: the table in ARCHITECTURE.md',
    `npx darkroom provider smoke ${name} --pay: one real job, once you have its key`,
  ];
}

async function newProvider(name: string, options: NewOptions, command: Command): Promise<void> {
  const root = resolve(options.checkout);
  const missing = [...TEMPLATE_FILES, ...LISTS.map(({ path }) => path)].find(
    (path) => !existsSync(join(root, path)),
  );
  if (missing !== undefined) {
    return command.error(
      `${root} is no checkout of Darkroom's source (${missing} is missing): run this in the folder of one, or name it by --checkout.`,
    );
  }
  const read = async (path: string) => [path, await readFile(join(root, path), 'utf8')] as const;
  const template = new Map(await Promise.all(TEMPLATE_FILES.map(read)));
  const problem = nameProblem(
    name,
    template,
    PROVIDERS.map((known) => known.name),
  );
  if (problem !== null) return command.error(problem, { exitCode: 2 });
  const files = renderProvider(template, name, options.callbacks);
  const taken = files.filter(({ path }) => existsSync(join(root, path))).map(({ path }) => path);
  if (taken.length > 0) {
    return command.error(`Nothing was written, since this exists: ${taken.join(', ')}. Choose another name.`);
  }
  const lists = await Promise.all(LISTS.map((list) => readList(list, name, read)));
  const unknown = lists.find(({ text }) => text === null);
  if (unknown !== undefined) {
    return command.error(`Nothing was written, since no list ${unknown.list} was found in ${unknown.path}.`);
  }
  const changed = lists.map(({ path, text }) => ({ path, text: text ?? '' }));
  const written = options.dryRun === true ? files : await write(root, files, changed);
  tell(name, options, written, changed);
}

async function readList(
  { path, list, entry }: (typeof LISTS)[number],
  name: string,
  read: (path: string) => Promise<readonly [string, string]>,
): Promise<{ readonly path: string; readonly list: string; readonly text: string | null }> {
  const [, text] = await read(path);
  return { path, list, text: withEntry(text, list, name, entry(name)) };
}

/** Writes all files, formats them as the project does, and reads the new ones back. Never over a file that is there. */
async function write(
  root: string,
  files: readonly NewFile[],
  changed: readonly NewFile[],
): Promise<readonly NewFile[]> {
  for (const { path, text } of files) await writeFile(join(root, path), text, { flag: 'wx' });
  for (const { path, text } of changed) await writeFile(join(root, path), text);
  await format(
    root,
    [...files, ...changed].map(({ path }) => path),
  );
  return Promise.all(
    files.map(async ({ path }) => ({ path, text: await readFile(join(root, path), 'utf8') })),
  );
}

/** @throws when the formatter of the checkout is not installed, or fails: all is written by then */
async function format(root: string, paths: readonly string[]): Promise<void> {
  try {
    const manifest = createRequire(join(root, 'package.json')).resolve('oxfmt/package.json');
    const { bin } = JSON.parse(await readFile(manifest, 'utf8')) as { bin: Readonly<Record<string, string>> };
    const script = join(dirname(manifest), bin['oxfmt'] ?? '');
    const options = { cwd: root, timeout: FORMAT_MS };
    await promisify(execFile)(process.execPath, [script, ...paths], options);
  } catch (error) {
    throw new Error(
      `The files are written but not formatted: run npm ci, then npx oxfmt ${paths.join(' ')}`,
      { cause: error },
    );
  }
}

function tell(
  name: string,
  { dryRun = false, json = false, callbacks }: NewOptions,
  files: readonly NewFile[],
  changed: readonly NewFile[],
): void {
  const places = files.flatMap((file) => placesIn(file));
  const next = nextSteps(name);
  const made = files.map(({ path }) => path);
  const edited = changed.map(({ path }) => path);
  show({ provider: name, callbacks, dry_run: dryRun, made, changed: edited, places, next }, json, () =>
    [
      dryRun ? 'Would write:' : 'Written:',
      ...made.map((path) => `  ${path}`),
      ...edited.map((path) => `  ${path} (one import, one entry)`),
      '',
      'Change these places, each marked [change]; remove the mark when it is done:',
      table(places.map(({ path, line, what }) => [`  ${path}:${line}`, what])),
      '',
      'Then:',
      ...next.map((step) => `  ${step}`),
    ].join('\n'),
  );
}
