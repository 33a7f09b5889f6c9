// Checks the documents: every path, link, npm script, darkroom command and test that they name must exist.
// node scripts/check-docs.mjs [FOLDER]: prints what is named and not there, one a line; exit status 1 when there is any.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT } from './tools.mjs';

const root = resolve(process.argv[2] ?? ROOT);

const PATH = /(?<![\w@./-])(?:src|test|scripts|prisma|docs|\.ci)\/[\w./@-]+/g;
const LINK = /\]\(([^()\s]+)\)/g;
const SCRIPT = /\bnpm (?:run ([\w:-]+)|(start|test)\b)/g;
const COMMAND = /(?:npx darkroom|node dist\/cli\/main\.js|`darkroom) ([a-z]+)(?: ([a-z]+(?:[-|][a-z]+)*))?/g;
/** A file of tests and a whole title in it; several may stand in one cell, between semicolons. */
const TEST = /`(test\/[\w./-]+\.(?:test|testsuite)\.ts)` "(.*?)"(?= \||; `|\)|$)/gm;
/** Whose tables say of each row what proves it, or that nothing does. */
const PROVES = 'SECURITY.md';
const ROW = /^\| (?!-)(.*?) \|.*\|$/gm;
const OWNED_UP = /\*\*(?:not met|operator's part)\*\*/;
/** Made by a build, so absent in a fresh checkout. */
const GENERATED = new Set(['src/db/generated']);

const found = documents().flatMap((name) =>
  [...new Set(problemsOf(name))].map((problem) => `${name}: ${problem}\n`),
);
process.stdout.write(found.join(''));
process.exitCode = found.length === 0 ? 0 : 1;

/** All Markdown at the root and below docs/. */
function documents() {
  const docs = existsSync(join(root, 'docs')) ? readdirSync(join(root, 'docs'), { recursive: true }) : [];
  const names = [...readdirSync(root), ...docs.map((name) => join('docs', String(name)))];
  return names.filter((name) => name.endsWith('.md'));
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

function problemsOf(name) {
  const text = read(name);
  const { scripts = {} } = JSON.parse(read('package.json'));
  const each = (pattern, check) => [...text.matchAll(pattern)].flatMap(check);
  return [
    ...each(PATH, ([path]) => checkPath(path.replace(/[./]+$/, ''))),
    ...each(LINK, ([, target]) => checkLink(name, text, target)),
    ...each(SCRIPT, ([, script, short]) =>
      (script ?? short) in scripts ? [] : [`the script "${script ?? short}" is not in package.json`],
    ),
    ...each(COMMAND, ([, command, words]) => checkCommand(command, words)),
    ...each(TEST, ([, file, title]) =>
      !existsSync(join(root, file)) || hasTitle(read(file), title) ? [] : [`${file} has no test "${title}"`],
    ),
    ...(name === PROVES ? each(ROW, checkRow) : []),
  ];
}

/** The whole title as a text of the file, in any quotes: a part of one would match what was renamed. */
function hasTitle(text, title) {
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted));
}

function checkRow([row, requirement]) {
  const proved = row.match(TEST) !== null || OWNED_UP.test(row);
  const isHead = requirement === 'requirement' || requirement === 'secret';
  return proved || isHead
    ? []
    : [`"${requirement}" names no test, and is neither "not met" nor the operator's part`];
}

function checkPath(path) {
  return GENERATED.has(path) || existsSync(join(root, path)) ? [] : [`${path} does not exist`];
}

function checkLink(name, text, target) {
  if (/^[a-z]+:/.test(target)) return [];
  const [file, anchor] = target.split('#');
  const path = join(dirname(name), file);
  if (file !== '' && !existsSync(join(root, path))) return [`the link ${target} leads nowhere`];
  if (anchor === undefined) return [];
  const headings = (file === '' ? text : read(path)).match(/^#+ .*$/gm) ?? [];
  return headings.some((heading) => anchorOf(heading) === anchor)
    ? []
    : [`the link ${target} has no such heading`];
}

/** As GitHub makes it: lower case, hyphens for spaces, no punctuation. */
function anchorOf(heading) {
  const words = heading.replace(/^#+ /, '').toLowerCase();
  return words.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

/** Each command is a file of src/cli that names it and its subcommands. */
function checkCommand(command, words) {
  if (command === 'help') return [];
  const files = readdirSync(join(root, 'src/cli')).filter((name) => name.endsWith('.ts'));
  const file = files.find((name) => read(`src/cli/${name}`).includes(`new Command('${command}')`));
  if (file === undefined) return [`there is no command "darkroom ${command}"`];
  // A subcommand may have a file of its own beside it: src/cli/tenant-links.ts.
  const own = files.filter((name) => name === file || name.startsWith(`${command}-`));
  const source = own.map((name) => read(`src/cli/${name}`)).join('\n');
  if (words === undefined || !source.includes('.addCommand(')) return [];
  // What can be paused: one subcommand for each kind.
  const kinds = source.includes('new Command(kind)')
    ? (read('src/db/pauses.ts').match(/PAUSE_KINDS = .*/) ?? [''])[0]
    : '';
  const unknown = words
    .split('|')
    .filter((word) => !source.includes(`new Command('${word}')`) && !kinds.includes(`'${word}'`));
  return unknown.map((word) => `there is no command "darkroom ${command} ${word}"`);
}
